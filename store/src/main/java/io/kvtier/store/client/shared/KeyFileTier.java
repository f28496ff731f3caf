package io.kvtier.store.client.shared;

import io.kvtier.alloc.HostMemory;
import io.kvtier.bindings.NativeException;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.request.ObjectRead;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.ReplicaMemory;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand.FetchKeyFileDrops;
import io.kvtier.store.protocol.DiskCommand.FetchKeyFiles;
import io.kvtier.store.protocol.DiskCommand.FindKeyFiles;
import io.kvtier.store.protocol.DiskCommand.KeyFileDrops;
import io.kvtier.store.protocol.DiskCommand.KeyFileFolder;
import io.kvtier.store.protocol.DiskCommand.KeyFileTask;
import io.kvtier.store.protocol.DiskCommand.KeyFileWritten;
import io.kvtier.store.protocol.DiskCommand.MountKeyFiles;
import io.kvtier.store.protocol.DiskCommand.UnmountKeyFiles;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand.ReplicaUnreadable;
import io.kvtier.store.replica.KeyFolder;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.storage.BlockHash;
import io.kvtier.store.storage.KeyFiles;
import io.kvtier.transport.file.FileOpener;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Files of single values in a folder that all clients mount, as the master names it. Every client reads them; one that
 * lends memory and finds the folder's parent at its place writes those of values in its memory, and deletes files whose
 * values are gone.
 *
 * <p><b>Threading:</b> reads, {@link #stop} and {@link #takeUnfinished} from any thread; {@link #mount} and
 * {@link #run} by one at a time each. <b>Blocking:</b> on the file system and on the master.
 */
public final class KeyFileTier {
    private static final System.Logger LOG = System.getLogger(KeyFileTier.class.getName());
    private static final int STEP = 32;

    private final UUID clientId;
    private final Master master;
    private final ReplicaMemory memory;
    private final Staging staging;
    private final KeyFiles files;
    private final AtomicBoolean sweep = new AtomicBoolean();
    private final AtomicBoolean unfinished = new AtomicBoolean();
    /** Where files are written and deleted. */
    private volatile KeyFolder folder = KeyFolder.NONE;
    /** Up to which number drops of this master are deleted; used by {@link #run} alone. */
    private long done;
    private volatile boolean stopped;

    /** Nothing is looked at yet. */
    public KeyFileTier(final UUID clientId, final Master master, final ReplicaMemory memory, final Staging staging,
        final FileOpener opener) {
        this.clientId = clientId;
        this.master = master;
        this.memory = memory;
        this.staging = staging;
        this.files = new KeyFiles(opener);
    }

    /** Asks the master for its folder, for the first time or anew, and says that it is there. */
    public void mount() {
        folder = KeyFolder.NONE;
        final KeyFileFolder told;
        try {
            told = master.apply(new MountKeyFiles(clientId));
        } catch (final StoreException e) {
            if (e.code() != ErrorCode.UNAVAILABLE_IN_CURRENT_MODE) {
                throw e;
            }
            // A master of an earlier version.
            return;
        }
        if (told.path().isEmpty()) {
            return;
        }
        final String problem = files.prepare(Path.of(told.path()));
        if (problem != null) {
            LOG.log(System.Logger.Level.WARNING, "this client writes no files of single values: {0}; mount the file "
                + "system of the master''s root_fs_dir at that place", problem);
            unmount();
            return;
        }
        folder = new KeyFolder(told.path());
        if (told.sweep()) {
            sweep.set(true);
        }
    }

    /** Tells the master that this client writes no more files. */
    public void unmount() {
        folder = KeyFolder.NONE;
        try {
            master.apply(new UnmountKeyFiles(clientId));
        } catch (final StoreException e) {
            if (e.code() != ErrorCode.UNAVAILABLE_IN_CURRENT_MODE) {
                throw e;
            }
            // It never knew.
        }
    }

    /** Writes and deletes what the master asks for, until there is nothing left. */
    public void run() {
        boolean ended = false;
        try {
            if (sweep.getAndSet(false)) {
                sweep();
            }
            boolean more = true;
            while (more && !stopped && folder.isOn()) {
                // Both, whichever there is.
                more = writeSome() | deleteSome();
            }
            ended = true;
        } finally {
            if (!ended) {
                unfinished.set(true);
            }
        }
    }

    /** Ends {@link #run} after the file that is under way. */
    public void stop() {
        stopped = true;
    }

    /** Whether {@link #run} ended before everything was done; asked once for each time. */
    public boolean takeUnfinished() {
        return unfinished.getAndSet(false);
    }

    private void sweep() {
        final KeyFolder where = folder;
        boolean ended = !where.isOn();
        try {
            if (!ended) {
                final long deleted = files.sweep(Path.of(where.path()), Batch.MAX_ITEMS,
                    paths -> master.apply(new FindKeyFiles(clientId, paths)));
                LOG.log(System.Logger.Level.INFO, "{0} files of values that the master does not know were deleted in "
                    + "{1}", deleted, where.path());
                ended = true;
            }
        } finally {
            if (!ended) {
                sweep.set(true);
            }
        }
    }

    private boolean writeSome() {
        final List<KeyFileTask> tasks = master.apply(new FetchKeyFiles(clientId, STEP));
        for (final KeyFileTask task : tasks) {
            if (stopped) {
                break;
            }
            write(task);
        }
        return !tasks.isEmpty();
    }

    private void write(final KeyFileTask task) {
        boolean written = false;
        long checksum = 0;
        try (ReplicaMemory.OwnRange range = memory.own(task.source(), task.source().size())) {
            if (range != null && isMine(task.filePath())) {
                final MemorySegment value = range.slice().segment().asSlice(0, task.source().size());
                checksum = BlockHash.xxh64(value);
                ((HostMemory) range.slice().region()).raiseFault();
                files.write(Path.of(task.filePath()), value);
                written = true;
            }
        } catch (final RuntimeException | Error e) {
            // An error: its pages of memory are gone, for the file behind them was cut.
            LOG.log(System.Logger.Level.WARNING, "the file of {0} ({1} bytes) could not be written: {2}", task.key(),
                task.source().size(), e.getMessage());
        }
        final Ack ack = master.apply(new KeyFileWritten(clientId, task.replicaId(), written, checksum));
        if (written && ack == Ack.STALE) {
            files.delete(Path.of(task.filePath()));
        }
    }

    private boolean deleteSome() {
        final KeyFileDrops drops = master.apply(new FetchKeyFileDrops(clientId, STEP, done));
        for (final String path : drops.paths()) {
            if (!isMine(path)) {
                // The folder is another one by now, or none: whoever has this one is told again.
                return false;
            }
            files.delete(Path.of(path));
        }
        done = drops.last();
        return !drops.paths().isEmpty();
    }

    /** Whether a file is one that the master may have written or deleted here. */
    private boolean isMine(final String path) {
        ReplicaDescriptor.DistributedDisk.requirePath(path);
        return folder.has(path);
    }

    /**
     * Reads a value, whole, whatever part of it is wanted. The master is told of a file that is gone or cut; that one
     * cannot be opened or read is this host's trouble.
     *
     * @param file      where it is.
     * @param read      the get.
     * @param replicaId of the replica.
     * @param length    bytes that are wanted.
     */
    public Move startRead(final ReplicaDescriptor.Disk file, final ObjectRead read, final long replicaId,
        final long length) {
        if (file.objectSize() != read.object().size()) {
            return Move.failed("it has " + file.objectSize() + " bytes there, the object " + read.object().size());
        }
        Staging.Piece piece = null;
        boolean started = false;
        try {
            piece = staging.take(file.objectSize());
            final String gone = files.read(Path.of(file.filePath()), file.objectSize(), piece.slice().segment());
            if (gone != null) {
                master.apply(new ReplicaUnreadable(read.request().key(), read.object().version(), replicaId));
                return Move.failed(gone);
            }
            started = true;
            return new KeyFileRead(piece, file.objectSize(), read.request(), length);
        } catch (final StoreException | NativeException e) {
            return Move.failed(String.valueOf(e.getMessage()));
        } finally {
            if (piece != null && !started) {
                piece.close();
            }
        }
    }
}
