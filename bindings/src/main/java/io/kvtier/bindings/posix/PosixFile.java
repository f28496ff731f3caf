package io.kvtier.bindings.posix;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.RefCount;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.List;

/**
 * Owner of a file descriptor.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> every call holds a reference for its length, so {@link #close()}
 * returns at once and the descriptor is closed when the last running call has ended; its number cannot be reused by
 * another open under a running call. <b>Blocking:</b> on the disk, and not interruptible.
 */
public final class PosixFile implements BlockFile {
    /** Owner may read and write, group and others may read. */
    public static final int MODE_DEFAULT = 0644;
    /** Owner may read and write, nobody else may do either. */
    public static final int MODE_PRIVATE = 0600;

    /** What direct I/O needs where the kernel does not say: the largest block of the file systems in use. */
    private static final int DEFAULT_DIRECT_ALIGNMENT = 4096;
    /** struct iovec: base address and length, 8 bytes each. */
    private static final long IOVEC_BYTES = 16;

    // linux/falloc.h.
    private static final int KEEP_SIZE = 1;
    private static final int PUNCH_HOLE = 2;

    private final String path;
    private final int fd;
    private final int alignment;
    private final RefCount references;

    private PosixFile(final String path, final int fd, final int alignment) {
        this.path = path;
        this.fd = fd;
        this.alignment = alignment;
        NativeResources.created(NativeTag.FILE_DESCRIPTOR, 0);
        this.references = new RefCount(() -> closeDescriptor(path, fd));
    }

    /**
     * Opens a file.
     *
     * @param path the path; UTF-8, no NUL.
     * @param mode how.
     * @return the owner of the new descriptor.
     * @throws ErrnoException           EINVAL in a direct mode when the file system cannot do direct I/O.
     * @throws IllegalArgumentException when the path contains NUL.
     */
    public static PosixFile open(final String path, final OpenMode mode) {
        return open(path, mode, MODE_DEFAULT);
    }

    /**
     * Opens a file, and says who may use it if it is made.
     *
     * @param path        the path; UTF-8, no NUL.
     * @param mode        how.
     * @param permissions of a file that is made, such as {@link #MODE_PRIVATE}; the process's umask takes away from
     *                    them, and a file that exists keeps its own.
     * @return the owner of the new descriptor.
     * @throws ErrnoException           as for {@link #open(String, OpenMode)}.
     * @throws IllegalArgumentException when the path contains NUL.
     */
    public static PosixFile open(final String path, final OpenMode mode, final int permissions) {
        // To C the path would end there, and name another file.
        if (path.indexOf(0) >= 0) {
            throw new IllegalArgumentException("a path cannot contain NUL: " + path.replace("\0", "\\0"));
        }
        final int fd;
        try (Arena arena = Arena.ofConfined()) {
            fd = openRetrying(arena.allocateFrom(path), mode, permissions);
            if (fd < 0) {
                throw new ErrnoException("open", Libc.lastErrno(), path + ", " + mode);
            }
        }
        try {
            return new PosixFile(path, fd, mode.direct() ? directAlignment(fd, path) : 1);
        } catch (final ErrnoException e) {
            Libc.close(fd);
            throw e;
        }
    }

    /**
     * Makes an unnamed file in memory ({@code memfd_create}), gone when the last descriptor and mapping are.
     *
     * @param name shown in {@code /proc/self/fd}; need not be unique.
     * @return the owner of the new descriptor.
     */
    public static PosixFile inMemory(final String name) {
        final int fd;
        try (Arena arena = Arena.ofConfined()) {
            final int closeOnExec = 1;
            fd = Libc.memfdCreate(arena.allocateFrom(name), closeOnExec);
            if (fd < 0) {
                throw new ErrnoException("memfd_create", Libc.lastErrno(), name);
            }
        }
        return new PosixFile("memfd:" + name, fd, 1);
    }

    @Override
    public String path() {
        return path;
    }

    @Override
    public int alignment() {
        return alignment;
    }

    @Override
    public long read(final MemorySegment target, final long offset) {
        checkWritable(target);
        acquire();
        try {
            final long count = Libc.pread(fd, target, offset);
            return checked("pread", count, offset, target.byteSize());
        } finally {
            references.release();
        }
    }

    @Override
    public long write(final MemorySegment source, final long offset) {
        acquire();
        try {
            final long count = Libc.pwrite(fd, source, offset);
            return checked("pwrite", count, offset, source.byteSize());
        } finally {
            references.release();
        }
    }

    /**
     * Reads consecutive bytes of the file into several pieces of memory with one system call.
     *
     * @param targets native memory, filled in order; at most 1,024 pieces. Nobody may close it before this returns:
     *                unlike {@link #read}, a vectored call cannot hold it open.
     * @param offset  where in the file, in bytes.
     * @return bytes read over all pieces; may be fewer than asked.
     * @throws ErrnoException when the call failed, EINTR included.
     */
    public long readVector(final List<MemorySegment> targets, final long offset) {
        targets.forEach(PosixFile::checkWritable);
        acquire();
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment vector = vector(arena, targets);
            final long count = Libc.preadv(fd, vector, targets.size(), offset);
            return checked("preadv", count, offset, targets.size());
        } finally {
            Reference.reachabilityFence(targets);
            references.release();
        }
    }

    /**
     * Writes several pieces of memory to consecutive bytes of the file with one system call.
     *
     * @param sources native memory, taken in order; at most 1,024 pieces. Nobody may close it before this returns:
     *                unlike {@link #write}, a vectored call cannot hold it open.
     * @param offset  where in the file, in bytes.
     * @return bytes written over all pieces; may be fewer than offered.
     * @throws ErrnoException when the call failed, EINTR included.
     */
    public long writeVector(final List<MemorySegment> sources, final long offset) {
        acquire();
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment vector = vector(arena, sources);
            final long count = Libc.pwritev(fd, vector, sources.size(), offset);
            return checked("pwritev", count, offset, sources.size());
        } finally {
            Reference.reachabilityFence(sources);
            references.release();
        }
    }

    @Override
    public void sync() {
        acquire();
        try {
            check("fdatasync", Libc.fdatasync(fd), "");
        } finally {
            references.release();
        }
    }

    /**
     * Makes data and all metadata durable ({@code fsync}); on a directory, the names in it.
     *
     * @throws ErrnoException when the device refused.
     */
    public void syncAll() {
        acquire();
        try {
            check("fsync", Libc.fsync(fd), "");
        } finally {
            references.release();
        }
    }

    @Override
    public void preallocate(final long offset, final long length) {
        acquire();
        try {
            int result = Libc.fallocate(fd, 0, offset, length);
            while (result != 0 && Libc.lastErrno() == Errno.EINTR) {
                result = Libc.fallocate(fd, 0, offset, length);
            }
            if (result != 0 && Libc.lastErrno() == Errno.EOPNOTSUPP) {
                growWithoutBlocks(offset + length);
            } else {
                check("fallocate", result, ", offset " + offset + ", length " + length);
            }
        } finally {
            references.release();
        }
    }

    @Override
    public void punch(final long offset, final long length) {
        acquire();
        try {
            int result = Libc.fallocate(fd, PUNCH_HOLE | KEEP_SIZE, offset, length);
            while (result != 0 && Libc.lastErrno() == Errno.EINTR) {
                result = Libc.fallocate(fd, PUNCH_HOLE | KEEP_SIZE, offset, length);
            }
            check("fallocate", result, ", hole at offset " + offset + ", length " + length);
        } finally {
            references.release();
        }
    }

    /**
     * Cuts or extends the file ({@code ftruncate}). For files of one owner only: a shared file is never cut.
     *
     * @param size the new size in bytes.
     */
    public void resize(final long size) {
        acquire();
        try {
            check("ftruncate", Libc.ftruncate(fd, size), ", size " + size);
        } finally {
            references.release();
        }
    }

    /**
     * Takes a lock on the file ({@code flock}), if nobody has one that excludes it. It belongs to this owner: another
     * one of the same file, in this process too, neither shares it nor loses it by closing, unlike a lock of
     * {@code fcntl}; and it goes with the process, however that ends. A process that this one starts has it for the
     * moment until its own program runs.
     *
     * @param exclusive whether nobody else may have a lock beside it, or others that are not exclusive may.
     * @return whether it was taken; it is held until {@link #close()}.
     * @throws ErrnoException when the file system has no such locks.
     */
    public boolean tryLock(final boolean exclusive) {
        acquire();
        try {
            final int operation = (exclusive ? Libc.LOCK_EX : Libc.LOCK_SH) | Libc.LOCK_NB;
            final int result = Libc.flock(fd, operation);
            // EWOULDBLOCK is EAGAIN on Linux; a call that does not wait is not interrupted.
            if (result != 0 && Libc.lastErrno() == Errno.EAGAIN) {
                return false;
            }
            check("flock", result, "");
            return true;
        } finally {
            references.release();
        }
    }

    @Override
    public long size() {
        return status().size();
    }

    /**
     * What the kernel says of the file now.
     *
     * @return size, kind, identity and direct-I/O alignment.
     */
    public FileStatus status() {
        acquire();
        try {
            return FileStatus.of(fd, path);
        } finally {
            references.release();
        }
    }

    @Override
    public String identity() {
        final FileStatus status = status();
        return Long.toHexString(status.device()) + ":" + status.inode();
    }

    @Override
    public void close() {
        references.close();
    }

    /**
     * Takes a reference and gives the descriptor's number, for a binding that hands it to the kernel or a driver
     * itself. Each call is answered by one {@link #releaseDescriptor()}, until when the number stays this file's.
     *
     * @return the descriptor.
     * @throws IllegalStateException when closed.
     */
    public int acquireDescriptor() {
        acquire();
        return fd;
    }

    /** Gives back what {@link #acquireDescriptor()} took; the number must not be used any more. */
    public void releaseDescriptor() {
        references.release();
    }

    /** Maps a range of the file; the mapping outlives this owner. */
    long map(final long length, final int protection, final int flags, final long offset) {
        acquire();
        try {
            return Libc.mmap(length, protection, flags, fd, offset);
        } finally {
            references.release();
        }
    }

    private void growWithoutBlocks(final long size) {
        if (FileStatus.of(fd, path).size() < size) {
            check("ftruncate", Libc.ftruncate(fd, size), ", size " + size);
        }
    }

    private void acquire() {
        if (!references.tryAcquire()) {
            throw new IllegalStateException(path + " is closed");
        }
    }

    private long checked(final String call, final long count, final long offset, final long length) {
        if (count < 0) {
            throw new ErrnoException(call, Libc.lastErrno(), path + ", offset " + offset + ", length " + length);
        }
        return count;
    }

    private void check(final String call, final int result, final String detail) {
        if (result != 0) {
            throw new ErrnoException(call, Libc.lastErrno(), path + detail);
        }
    }

    private static void checkWritable(final MemorySegment target) {
        if (target.isReadOnly()) {
            throw new IllegalArgumentException("the memory to read into is read-only");
        }
    }

    private static int openRetrying(final MemorySegment path, final OpenMode mode, final int permissions) {
        int fd = Libc.open(path, mode.flags(), permissions);
        while (fd < 0 && Libc.lastErrno() == Errno.EINTR) {
            fd = Libc.open(path, mode.flags(), permissions);
        }
        return fd;
    }

    private static int directAlignment(final int fd, final String path) {
        final FileStatus status = FileStatus.of(fd, path);
        final int asked = Math.max(status.memoryAlignment(), status.offsetAlignment());
        return Math.max(asked, DEFAULT_DIRECT_ALIGNMENT);
    }

    private static MemorySegment vector(final Arena arena, final List<MemorySegment> pieces) {
        if (pieces.size() > Libc.IOV_MAX) {
            throw new IllegalArgumentException(pieces.size() + " pieces in one vectored call; the kernel takes "
                + Libc.IOV_MAX + ": split the call");
        }
        final MemorySegment vector = arena.allocate(Math.max(1, pieces.size()) * IOVEC_BYTES, Long.BYTES);
        for (int i = 0; i < pieces.size(); i++) {
            final MemorySegment piece = pieces.get(i);
            if (!piece.isNative()) {
                throw new IllegalArgumentException("piece " + i + " is heap memory; the kernel needs native memory");
            }
            // The kernel sees only addresses: what FFM checks in a call that is given segments is checked here.
            if (!piece.scope().isAlive() || !piece.isAccessibleBy(Thread.currentThread())) {
                throw new IllegalStateException("piece " + i + " is closed or belongs to another thread");
            }
            vector.set(JAVA_LONG, i * IOVEC_BYTES, piece.address());
            vector.set(JAVA_LONG, i * IOVEC_BYTES + Long.BYTES, piece.byteSize());
        }
        return vector;
    }

    /**
     * Linux releases the number even when close reports an error (close(2)), so it is never tried again; what the
     * error would tell was already told by fdatasync.
     */
    private static void closeDescriptor(final String path, final int fd) {
        NativeResources.released(NativeTag.FILE_DESCRIPTOR, 0);
        if (Libc.close(fd) != 0 && Libc.lastErrno() == Errno.EBADF) {
            throw new ErrnoException("close", Errno.EBADF, path + ", closed behind the owner's back");
        }
    }
}
