package io.kvtier.store.client.shared;

import io.kvtier.alloc.HostMemory;
import io.kvtier.bindings.NativeException;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.call.WorkSignal;
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
import io.kvtier.store.protocol.DiskCommand.KeyFileResult;
import io.kvtier.store.protocol.DiskCommand.KeyFileTask;
import io.kvtier.store.protocol.DiskCommand.KeyFileWritten;
import io.kvtier.store.protocol.DiskCommand.MountKeyFiles;
import io.kvtier.store.protocol.DiskCommand.QueryKeyFolder;
import io.kvtier.store.protocol.DiskCommand.StoredVersion;
import io.kvtier.store.protocol.DiskCommand.UnmountKeyFiles;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand.ReplicaUnreadable;
import io.kvtier.store.replica.KeyFolder;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.storage.BlockHash;
import io.kvtier.store.storage.KeyFiles;
import io.kvtier.transport.RareLog;
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
 * <p><b>Threading:</b> {@link #startRead} and {@link #wake} from any thread; {@link #mount} and {@link #unmount} by one
 * at a time; files are written and deleted by {@code kvtier-key-files}, which is there once a folder was found.
 * <b>Blocking:</b> on the file system and on the master, without a time limit on the former; {@link #wake} never does.
 * <b>Lifetime:</b> {@link #close} lets the file under way end. While {@link #isRunning} after that, it uses memory that
 * is lent.
 */
public final class KeyFileTier implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(KeyFileTier.class.getName());
    private static final int STEP = 32;
    /** A thread that has nothing to do takes a moment to end; 0 would be for ever. */
    private static final long LEAST_JOIN_MS = 100;

    private final UUID clientId;
    private final Master master;
    private final ReplicaMemory memory;
    private final Staging staging;
    private final KeyFiles files;
    private final long closeTimeoutMs;
    private final WorkSignal work = new WorkSignal();
    private final Thread thread = Thread.ofPlatform().daemon().name("kvtier-key-files").unstarted(this::run);
    private final AtomicBoolean started = new AtomicBoolean();
    private final RareLog notes = new RareLog(LOG);
    /** Where files are written and deleted. */
    private volatile KeyFolder folder = KeyFolder.NONE;
    /** Which was found last; used by those who mount. What has been there is not made: it was on a file system. */
    private KeyFolder found = KeyFolder.NONE;
    /** The folder is to be looked for again. */
    private final AtomicBoolean missing = new AtomicBoolean();
    /** Up to which number drops are deleted; used by the thread alone. Another master's says nothing to a master. */
    private long done;
    private volatile boolean stopping;

    /** Nothing is looked at yet. */
    public KeyFileTier(final UUID clientId, final Master master, final ReplicaMemory memory, final Staging staging,
        final FileOpener opener, final long closeTimeoutMs) {
        this.clientId = clientId;
        this.master = master;
        this.memory = memory;
        this.staging = staging;
        this.files = new KeyFiles(opener);
        this.closeTimeoutMs = closeTimeoutMs;
    }

    /** Asks the master for its folder, for the first time or anew, and says that it is there. */
    public void mount() {
        folder = KeyFolder.NONE;
        missing.set(false);
        final String told;
        try {
            told = master.apply(new QueryKeyFolder());
        } catch (final StoreException e) {
            if (e.code() != ErrorCode.UNAVAILABLE_IN_CURRENT_MODE) {
                throw e;
            }
            // A master of an earlier version.
            return;
        }
        if (told.isEmpty()) {
            return;
        }
        final Path path = Path.of(told);
        final KeyFolder wanted = new KeyFolder(told);
        final String problem = wanted.equals(found) ? KeyFiles.problem(path) : files.prepare(path);
        if (problem != null) {
            isMissing(problem);
            return;
        }
        // Before the master knows it: what that asks for at once is to find it.
        folder = wanted;
        if (master.apply(new MountKeyFiles(clientId, KeyFiles.capacity(path))) != Ack.OK) {
            folder = KeyFolder.NONE;
            return;
        }
        found = wanted;
        if (!stopping && started.compareAndSet(false, true)) {
            thread.start();
        }
        wake();
    }

    private void isMissing(final String problem) {
        notes.warn("this client writes and deletes no files of single values until their folder is there", () -> problem
            + "; mount the file system of the master's root_fs_dir at that place");
        missing.set(true);
        // It may have been there before; others delete what is to go.
        master.apply(new UnmountKeyFiles(clientId));
    }

    /** Who does not find the folder any more leaves it to others, and looks for it again. */
    private void leaveWhenGone() {
        final KeyFolder where = folder;
        final String problem = where.isOn() ? KeyFiles.problem(Path.of(where.path())) : null;
        if (problem != null && where == folder) {
            folder = KeyFolder.NONE;
            isMissing(problem);
        }
    }

    /** Whether the folder was not there when it was last looked for; asked once for each time. */
    public boolean takeMissing() {
        return missing.getAndSet(false);
    }

    /** Tells the master that this client writes no more files. */
    public void unmount() {
        if (folder.isOn()) {
            folder = KeyFolder.NONE;
            master.apply(new UnmountKeyFiles(clientId));
        }
    }

    /** The master has something for this client to write or delete. */
    public void wake() {
        work.wake();
    }

    /** Ends the thread after the file that is under way. */
    @Override
    public void close() {
        stopping = true;
        work.wake();
        try {
            thread.join(Math.max(LEAST_JOIN_MS, closeTimeoutMs));
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Whether the thread is still at a file, and uses memory that is lent. */
    public boolean isRunning() {
        return thread.isAlive();
    }

    private void run() {
        boolean again = false;
        while (!stopping) {
            work.await(again);
            again = false;
            try {
                work();
            } catch (final StoreException e) {
                // The announcement was taken, and nobody repeats it; the master names again what was not answered.
                again = true;
                notes.warn("files of single values could not be written or deleted, and are tried again",
                    e::getMessage);
            } catch (final RuntimeException | Error e) {
                // A fault of the store. The thread lives on, for its memory is held until the master hears of it.
                LOG.log(System.Logger.Level.ERROR, "a file of a single value ended in an unforeseen way", e);
            }
        }
    }

    /** Writes and deletes what the master asks for, until there is nothing left. */
    private void work() {
        boolean more = true;
        while (more && !stopping && folder.isOn()) {
            try {
                // Both, whichever there is.
                more = writeSome() | deleteSome();
            } finally {
                leaveWhenGone();
            }
        }
    }

    /** Deletes what the master does not know. One that dies meanwhile is followed by another client. */
    private void sweep() {
        final KeyFolder where = folder;
        if (!where.isOn()) {
            return;
        }
        final long deleted = files.sweep(Path.of(where.path()), Batch.MAX_ITEMS,
            paths -> master.apply(new FindKeyFiles(clientId, paths, false)));
        // Mounted anew meanwhile, it may be another master that was asked about the rest.
        if (where == folder) {
            master.apply(new FindKeyFiles(clientId, List.of(), true));
        }
        LOG.log(System.Logger.Level.INFO, "{0} files of values that the master does not know were deleted in {1}",
            deleted, where.path());
    }

    private boolean writeSome() {
        final List<KeyFileTask> tasks = master.apply(new FetchKeyFiles(clientId, STEP));
        for (final KeyFileTask task : tasks) {
            if (stopping) {
                break;
            }
            write(task);
        }
        return !tasks.isEmpty();
    }

    private void write(final KeyFileTask task) {
        KeyFileResult result = KeyFileResult.FAILED;
        long checksum = 0;
        try (ReplicaMemory.OwnRange range = memory.own(task.source(), task.source().size())) {
            if (range != null && isMine(task.filePath())) {
                final MemorySegment value = range.slice().segment().asSlice(0, task.source().size());
                checksum = BlockHash.xxh64(value);
                ((HostMemory) range.slice().region()).raiseFault();
                files.write(Path.of(task.filePath()), value);
                result = KeyFileResult.WRITTEN;
            }
        } catch (final RuntimeException | Error e) {
            result = KeyFiles.isOutOfSpace(e, Path.of(task.filePath()).getParent().getParent())
                ? KeyFileResult.NO_ROOM : result;
            // An error: its pages of memory are gone, for the file behind them was cut.
            notes.warn("a file of a single value could not be written", () -> task.key() + " ("
                + task.source().size() + " bytes): " + e.getMessage());
        }
        final Ack ack = master.apply(new KeyFileWritten(clientId,
            new StoredVersion(task.key(), task.version()), task.replicaId(), result, checksum));
        if (result == KeyFileResult.WRITTEN && ack == Ack.STALE) {
            files.delete(Path.of(task.filePath()));
        } else if (result == KeyFileResult.FAILED) {
            // What was fetched with it is not even tried then.
            leaveWhenGone();
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
        if (drops.sweep()) {
            sweep();
        }
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
