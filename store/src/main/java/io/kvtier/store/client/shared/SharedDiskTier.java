package io.kvtier.store.client.shared;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.SharedDiskConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.StoreStats;
import io.kvtier.store.client.engine.Engines;
import io.kvtier.store.client.request.ObjectRead;
import io.kvtier.store.client.request.ReadTerms;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.PageCommand.DistributedDiskTerms;
import io.kvtier.store.protocol.PageCommand.MountDistributedDisk;
import io.kvtier.store.protocol.PageCommand.UnmountDistributedDisk;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.storage.shared.BucketFiles;
import io.kvtier.store.storage.shared.DistributedDiskReader;
import io.kvtier.store.storage.shared.DistributedPageWriter;
import io.kvtier.store.storage.shared.FileSystemAdapter;
import io.kvtier.store.storage.shared.OpenFiles;
import io.kvtier.store.storage.shared.SharedDiskHealth;
import io.kvtier.store.storage.shared.SharedFileSystems;
import io.kvtier.store.storage.shared.SystemHost;
import io.kvtier.transport.Closings;
import java.util.List;
import java.util.UUID;

/**
 * A client's way to the shared disk. It says to the master that it has the files mounted, looks at them the first time
 * that the master takes it, and reads them by itself.
 *
 * <p><b>Threading:</b> reads from any thread; {@link #mount} by one at a time. <b>Lifetime:</b> closed after the last
 * read. <b>Blocking:</b> on the file system.
 */
public final class SharedDiskTier implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(SharedDiskTier.class.getName());

    private final UUID clientId;
    private final SharedDiskConfig config;
    private final Master master;
    private final Staging staging;
    private final FileSystemAdapter files;
    private final OpenFiles open;
    private final DistributedDiskReader reader;
    private final DistributedPageBackend pages;
    /** Milliseconds for a write, as the master said last; 0 until the files were looked at: nothing is begun then. */
    private volatile long writeMs;
    /** Whose the files are; null until they were looked at. */
    private volatile String cluster;

    /** Opens the file system; nothing in it is looked at yet. */
    public SharedDiskTier(final SharedDiskConfig config, final Engines engines, final UUID clientId,
        final Master master, final Staging staging) {
        this.clientId = clientId;
        this.config = config;
        this.master = master;
        this.staging = staging;
        try (Closings opened = new Closings()) {
            files = opened.keep(SharedFileSystems.open(config.fileSystem(), engines.opener(), engines::sharedFiles),
                FileSystemAdapter::close);
            open = opened.keep(new OpenFiles(files), OpenFiles::close);
            reader = new DistributedDiskReader(layout(), open);
            pages = new DistributedPageBackend(clientId, master, layout().pageBytes(), new DistributedPageWriter(open),
                reader, () -> writeMs);
            opened.stayOpen();
        }
    }

    private PageLayout layout() {
        return config.layout();
    }

    /**
     * Says that this client has the files mounted, for the first time or anew. A master without page mode, or of an
     * earlier version, leaves the client without a shared disk until it is told again.
     *
     * @throws StoreException INVALID_PARAMS, when the master has another layout; FILE_OPEN_FAIL, when the file system
     *                        will not do.
     */
    public void mount() {
        // Another master may answer, which has other files: until these were looked at, nothing is written to them.
        writeMs = 0;
        final DistributedDiskTerms terms;
        try {
            terms = master.apply(new MountDistributedDisk(clientId, layout()));
        } catch (final StoreException e) {
            if (e.code() != ErrorCode.UNAVAILABLE_IN_CURRENT_MODE) {
                throw e;
            }
            LOG.log(System.Logger.Level.WARNING, "the shared disk in {0} is not used: {1}", layout().rootDir(),
                e.getMessage());
            return;
        }
        if (!terms.clusterId().equals(cluster)) {
            cluster = null;
            prepareOrLeave(terms.clusterId());
        }
        writeMs = terms.writeMs();
    }

    private void prepareOrLeave(final String name) {
        try {
            prepare(name);
        } catch (final RuntimeException | Error e) {
            try {
                unmount();
            } catch (final StoreException silent) {
                // Why the files will not do is what somebody has to hear.
                e.addSuppressed(silent);
            }
            throw e;
        }
    }

    private void prepare(final String name) {
        if (config.healthCheck()) {
            examine(name);
        }
        final BucketFiles buckets = BucketFiles.prepare(layout(), files);
        LOG.log(System.Logger.Level.INFO, "shared disk: {0}", buckets.summary());
        cluster = name;
    }

    private void examine(final String name) {
        final List<SharedDiskHealth.Finding> findings =
            SharedDiskHealth.claim(layout(), files, new SystemHost(), name);
        for (final SharedDiskHealth.Finding finding : findings) {
            if (finding.state() == SharedDiskHealth.State.LIMITED) {
                LOG.log(System.Logger.Level.WARNING, "shared disk: {0}; {1}", finding.found(), finding.remedy());
            }
        }
        final String broken = SharedDiskHealth.broken(findings);
        if (!broken.isEmpty()) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "the shared disk cannot be used: " + broken);
        }
    }

    /** Tells the master that this client leaves the files. */
    public void unmount() {
        try {
            master.apply(new UnmountDistributedDisk(clientId));
        } catch (final StoreException e) {
            if (e.code() != ErrorCode.UNAVAILABLE_IN_CURRENT_MODE) {
                throw e;
            }
            // It never knew.
        }
    }

    /**
     * Starts to read a part of a value into a caller's memory.
     *
     * @param place  where it lies.
     * @param read   the get.
     * @param length bytes.
     * @param terms  of the reader.
     * @param alone  whether the caller finishes this read before it starts another.
     */
    public Move startRead(final ReplicaDescriptor.DistributedDisk place, final ObjectRead read, final long length,
        final ReadTerms terms, final boolean alone) {
        final ReadReply object = read.object();
        if (cluster == null) {
            return Move.failed("the shared disk was not looked at for this master, or will not do for it");
        }
        if (place.objectSize() != object.size()) {
            return Move.failed("it has " + place.objectSize() + " bytes there, the object " + object.size());
        }
        return new SharedRead(reader, staging, place, read.request(), length)
            .start(object.checksummed() && terms.verify(), terms.timeoutMs(), alone);
    }

    /** What has been read and written. */
    public StoreStats.SharedDiskStats stats() {
        return new StoreStats.SharedDiskStats(reader.stats(), pages.stats());
    }

    /** Reads values there. */
    public DistributedDiskReader reader() {
        return reader;
    }

    /** Takes values there. */
    public DistributedPageBackend pages() {
        return pages;
    }

    /** Whether transfers were left running when it was closed: staging memory must then stay mapped. */
    public boolean isAbandoned() {
        return files.isAbandoned();
    }

    @Override
    public void close() {
        open.close();
        files.close();
    }
}
