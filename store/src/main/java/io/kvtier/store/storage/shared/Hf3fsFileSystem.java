package io.kvtier.store.storage.shared;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.hf3fs.Hf3fsFile;
import io.kvtier.bindings.hf3fs.Usrbio;
import io.kvtier.bindings.hf3fs.UsrbioChannel;
import io.kvtier.bindings.hf3fs.UsrbioException;
import io.kvtier.bindings.hf3fs.UsrbioOptions;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.Closings;
import io.kvtier.transport.IoThreads;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * 3FS past FUSE: what is in files goes through USRBIO, by memory that is shared with the client of 3FS; names, sizes
 * and growth go through the mount, as on any file system. Bytes are copied once between a caller's memory and the
 * shared one, by the calling thread or by one of a few of its own.
 *
 * <p>A read of which nothing is heard for half a minute fails, and its memory is the caller's again. A write of which
 * nothing is heard may still change the file, so it does not end, and is told in the log, until something is heard or
 * this is closed: until then nobody gives its room to another value. While all lanes wait so, others wait behind them.
 *
 * <p>One of these serves one 3FS: that of the first file. Files of another one are refused when they are moved.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> owns the channel, its threads and the adapter of the mount.
 */
public final class Hf3fsFileSystem implements FileSystemAdapter {
    /** Its name in the configuration. */
    public static final String NAME = "hf3fs";

    private static final System.Logger LOG = System.getLogger(Hf3fsFileSystem.class.getName());
    private static final String NOT_ON_3FS = " is on no 3FS whose client offers USRBIO";
    private static final String OTHERWISE = "mount 3FS there on every host, with its client running, or choose "
        + PosixFileSystem.NAME + ", which goes through the mount";
    /** A path that leads to another file each time that it is looked at is given up. */
    private static final int MOST_OPENED = 8;
    /** The file's own, and the one that the library makes of it. */
    private static final int DESCRIPTORS = 2;
    private static final int QUEUED = 1 << 12;
    private static final byte TRIAL = 0x5a;

    private final FileSystemAdapter mounted;
    private final FileOpener opener;
    private final Usrbio usrbio;
    private final UsrbioOptions options;
    private final IoThreads threads;
    /** To the 3FS of the first folder that was asked for; guarded by this object. */
    private UsrbioChannel channel;
    private boolean closed;

    private Hf3fsFileSystem(final FileSystemAdapter mounted, final FileOpener opener, final Usrbio usrbio,
        final UsrbioOptions options) {
        this.mounted = mounted;
        this.opener = opener;
        this.usrbio = usrbio;
        this.options = options.withAwaitedWrites();
        threads = new IoThreads("kvtier-usrbio", options.lanes(), QUEUED);
    }

    /**
     * Opens it by the library of this process, for the 3FS of whatever is asked for first.
     *
     * @param mounted what goes through the mount; closed with this.
     * @param opener  opens the files.
     * @return the file system, to be closed.
     * @throws IllegalStateException when there is no library ({@link Usrbio#availability()}).
     */
    public static Hf3fsFileSystem open(final FileSystemAdapter mounted, final FileOpener opener) {
        return over(mounted, opener, Usrbio.system(), UsrbioOptions.DEFAULT);
    }

    static Hf3fsFileSystem over(final FileSystemAdapter mounted, final FileOpener opener, final Usrbio usrbio,
        final UsrbioOptions options) {
        return new Hf3fsFileSystem(mounted, opener, usrbio, options);
    }

    /** The channel to the 3FS that a folder is on; the library is asked about the first one only. */
    private synchronized UsrbioChannel channel(final Path folder) {
        if (closed) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "nothing in " + folder + " can be opened: the file"
                + " system is closed");
        }
        if (channel == null) {
            try {
                final String mount = usrbio.mountPoint(folder).orElseThrow(() -> new StoreException(
                    ErrorCode.FILE_OPEN_FAIL, folder + NOT_ON_3FS + "; " + OTHERWISE));
                channel = UsrbioChannel.open(usrbio, mount, options);
            } catch (final IOException | UsrbioException e) {
                throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "USRBIO cannot be used for " + folder + ": "
                    + e.getMessage() + "; " + OTHERWISE, e);
            }
        }
        return channel;
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public SharedFile open(final String path) {
        for (int i = 0; i < MOST_OPENED; i++) {
            final Status before = status(path);
            if (before == null) {
                throw new StoreException(ErrorCode.FILE_OPEN_FAIL, path + " is not there; is the file system mounted "
                    + "on this host, and at the same place as on the others?");
            }
            final Hf3fsSharedFile file = opened(path, before.identity());
            boolean same = false;
            try {
                final Status after = status(path);
                same = after != null && after.identity().equals(before.identity());
                if (same) {
                    return file;
                }
            } finally {
                if (!same) {
                    file.close();
                }
            }
        }
        throw new StoreException(ErrorCode.FILE_OPEN_FAIL, path + " was replaced " + MOST_OPENED
            + " times while it was opened; nobody but the clients of one cluster may use that folder");
    }

    private Hf3fsSharedFile opened(final String path, final Object identity) {
        try (Closings opened = new Closings()) {
            final UsrbioChannel lanes = channel(Path.of(path).getParent());
            final BlockFile file = opened.keep(opener.open(path, OpenMode.READ_WRITE), BlockFile::close);
            final Hf3fsFile registered = opened.keep(registered(path, file), Hf3fsFile::close);
            final Hf3fsSharedFile made = new Hf3fsSharedFile(lanes, threads, file, registered, identity);
            opened.stayOpen();
            return made;
        } catch (final NativeException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot open " + path + ": " + e.getMessage()
                + "; this user must be able to read it, and to write it where this client is not to read only", e);
        }
    }

    private Hf3fsFile registered(final String path, final BlockFile file) {
        final PosixFile descriptor = opener.descriptor(file);
        if (descriptor == null) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, path + " has no descriptor that could be registered");
        }
        return Hf3fsFile.register(usrbio, descriptor);
    }

    @Override
    public Status status(final String path) {
        return mounted.status(path);
    }

    @Override
    public Growth grow(final String path, final long bytes) {
        return mounted.grow(path, bytes);
    }

    @Override
    public long freeBytes(final String folder) {
        return mounted.freeBytes(folder);
    }

    /** The way goes past the cache by itself; so what is found out is whether it goes. */
    @Override
    public Availability pastTheCache(final String folder) {
        Path file = null;
        try {
            file = Files.createTempFile(Path.of(folder), ".kvtier-usrbio-", "");
            return tried(file.toString());
        } catch (final IOException | RuntimeException e) {
            return Availability.no("USRBIO was tried in " + folder + " and failed: " + e.getMessage(), "allow this user"
                + " to write there; " + OTHERWISE);
        } finally {
            delete(file);
        }
    }

    @Override
    public Availability readsPastTheCache(final String path) {
        try (HostRegion memory = HostRegion.allocate(NativeTag.BOUNCE, BLOCK_BYTES); SharedFile file = open(path)) {
            file.read(0, List.of(memory.segment()), 0, true).await();
            return Availability.yes("USRBIO, past every cache");
        } catch (final StoreException e) {
            return Availability.no("USRBIO was tried on " + path + " and failed: " + e.getMessage(), OTHERWISE);
        }
    }

    private Availability tried(final String path) {
        grow(path, BLOCK_BYTES);
        try (HostRegion memory = HostRegion.allocate(NativeTag.BOUNCE, BLOCK_BYTES); SharedFile file = open(path)) {
            // First a read, which a client that does not answer makes fail: a write would be waited for.
            file.read(0, List.of(memory.segment()), 0, true).await();
            memory.segment().fill(TRIAL);
            file.write(0, List.of(memory.segment()), 0).await();
            file.sync();
            memory.segment().fill((byte) 0);
            file.read(0, List.of(memory.segment()), 0, true).await();
            try (HostRegion written = HostRegion.allocate(NativeTag.BOUNCE, BLOCK_BYTES)) {
                written.segment().fill(TRIAL);
                return memory.segment().mismatch(written.segment()) < 0 ? Availability.yes("USRBIO, past every cache")
                    : Availability.no("a block that was written by USRBIO was read as another one", OTHERWISE);
            }
        }
    }

    private static void delete(final Path file) {
        if (file != null) {
            try {
                Files.deleteIfExists(file);
            } catch (final IOException e) {
                LOG.log(System.Logger.Level.DEBUG, "a file of a trial could not be removed", e);
            }
        }
    }

    @Override
    public int descriptorsPerFile() {
        return DESCRIPTORS;
    }

    /**
     * Never: callers' memory is touched by threads of this process only, which closing waits for. What the client of
     * 3FS does late is in shared memory that stays by itself.
     */
    @Override
    public boolean isAbandoned() {
        return false;
    }

    /** Waits for what runs: for a write of which nothing is heard, until that is so for half a minute once more. */
    @Override
    public void close() {
        try (Closings closing = new Closings()) {
            closing.add(mounted::close);
            // Ended by the channel, which refuses what is queued.
            closing.add(threads::close);
            closing.add(this::closeChannel);
        }
    }

    private void closeChannel() {
        final UsrbioChannel open;
        synchronized (this) {
            closed = true;
            open = channel;
        }
        try {
            if (open != null) {
                open.close();
            }
        } catch (final IllegalStateException e) {
            LOG.log(System.Logger.Level.WARNING, "USRBIO was left with something of which nothing is heard", e);
        }
    }

    /** Not memory of the heap, or of a thread, as for any other file: threads of this one touch it. */
    static boolean isReachable(final MemorySegment memory) {
        return memory.isNative() && memory.isAccessibleBy(Probe.THREAD) && memory.scope().isAlive();
    }

    /** A thread that is none of those that own memory. */
    private static final class Probe {
        static final Thread THREAD = Thread.ofPlatform().unstarted(() -> { });
    }
}
