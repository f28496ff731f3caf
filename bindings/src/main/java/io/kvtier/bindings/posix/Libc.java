package io.kvtier.bindings.posix;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/**
 * Downcalls to the C library, one method each, result and errno as the C function gives them.
 *
 * <p>Every handle captures errno with the call, because the JVM itself may change it before a later
 * {@code __errno_location}. The capture segment belongs to the calling thread. None of these functions is linked as
 * {@code critical}: all of them can block, and a critical call holds up every safepoint.
 *
 * <p>The prototypes are those of the man pages, section 2; {@code off_t}, {@code size_t} and {@code ssize_t} are 64
 * bits on the two architectures this library runs on (x86-64 and AArch64 Linux).
 */
@SuppressWarnings("restricted")
final class Libc {
    /** Most entries of one vectored call ({@code IOV_MAX}, limits.h). */
    static final int IOV_MAX = 1024;

    static final int PROT_READ = 1;
    static final int PROT_WRITE = 2;
    static final int MAP_SHARED = 1;
    static final int MAP_PRIVATE = 2;
    static final int MAP_ANONYMOUS = 0x20;
    static final int MAP_NORESERVE = 0x4000;
    static final long MAP_FAILED = -1;
    /** Operations of {@code flock(2)} (sys/file.h). */
    static final int LOCK_SH = 1;
    static final int LOCK_EX = 2;
    static final int LOCK_NB = 4;
    /** Asks a terminal for its size (asm-generic/ioctls.h). */
    static final long TIOCGWINSZ = 0x5413;
    /** Asks a block device for its size in bytes (linux/fs.h); the same on x86-64 and AArch64. */
    static final long BLKGETSIZE64 = 0x80081272L;

    private static final Linker LINKER = Linker.nativeLinker();
    private static final Linker.Option ERRNO = Linker.Option.captureCallState("errno");
    private static final StructLayout STATE = Linker.Option.captureStateLayout();
    private static final VarHandle STATE_ERRNO = STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
    private static final ThreadLocal<MemorySegment> CAPTURE =
        ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(STATE));

    private static final MethodHandle OPEN = link("open", 2,
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT));
    private static final MethodHandle CLOSE = link("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    private static final MethodHandle PREAD = link("pread",
        FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle PWRITE = link("pwrite",
        FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle PREADV = link("preadv",
        FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT, JAVA_LONG));
    private static final MethodHandle PWRITEV = link("pwritev",
        FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT, JAVA_LONG));
    private static final MethodHandle FALLOCATE = link("fallocate",
        FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle FTRUNCATE = link("ftruncate",
        FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG));
    private static final MethodHandle FDATASYNC = link("fdatasync", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    private static final MethodHandle FSYNC = link("fsync", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    private static final MethodHandle FLOCK = link("flock", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
    private static final MethodHandle STATX = link("statx",
        FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT, ADDRESS));
    private static final MethodHandle MMAP = link("mmap",
        FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
    private static final MethodHandle MUNMAP = link("munmap",
        FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle MADVISE = link("madvise",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));
    private static final MethodHandle MLOCK = link("mlock", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG));
    private static final MethodHandle MEMFD_CREATE = link("memfd_create",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
    private static final MethodHandle ISATTY = link("isatty", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    private static final MethodHandle IOCTL = link("ioctl", 2,
        FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));
    private static final MethodHandle STRERROR = LINKER.downcallHandle(
        LINKER.defaultLookup().find("strerror").orElseThrow(), FunctionDescriptor.of(ADDRESS, JAVA_INT));

    private Libc() {
    }

    static int lastErrno() {
        return (int) STATE_ERRNO.get(CAPTURE.get(), 0L);
    }

    static int open(final MemorySegment path, final int flags, final int mode) {
        try {
            return (int) OPEN.invokeExact(CAPTURE.get(), path, flags, mode);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    static int close(final int fd) {
        try {
            return (int) CLOSE.invokeExact(CAPTURE.get(), fd);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    static long pread(final int fd, final MemorySegment target, final long offset) {
        try {
            return (long) PREAD.invokeExact(CAPTURE.get(), fd, target, target.byteSize(), offset);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    static long pwrite(final int fd, final MemorySegment source, final long offset) {
        try {
            return (long) PWRITE.invokeExact(CAPTURE.get(), fd, source, source.byteSize(), offset);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    static long preadv(final int fd, final MemorySegment vector, final int count, final long offset) {
        try {
            return (long) PREADV.invokeExact(CAPTURE.get(), fd, vector, count, offset);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    static long pwritev(final int fd, final MemorySegment vector, final int count, final long offset) {
        try {
            return (long) PWRITEV.invokeExact(CAPTURE.get(), fd, vector, count, offset);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    static int fallocate(final int fd, final int mode, final long offset, final long length) {
        try {
            return (int) FALLOCATE.invokeExact(CAPTURE.get(), fd, mode, offset, length);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    static int ftruncate(final int fd, final long length) {
        try {
            return (int) FTRUNCATE.invokeExact(CAPTURE.get(), fd, length);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    static int fdatasync(final int fd) {
        try {
            return (int) FDATASYNC.invokeExact(CAPTURE.get(), fd);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    static int fsync(final int fd) {
        try {
            return (int) FSYNC.invokeExact(CAPTURE.get(), fd);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    static int flock(final int fd, final int operation) {
        try {
            return (int) FLOCK.invokeExact(CAPTURE.get(), fd, operation);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    static int statx(final int dirFd, final MemorySegment path, final int flags, final int mask,
        final MemorySegment result) {
        try {
            return (int) STATX.invokeExact(CAPTURE.get(), dirFd, path, flags, mask, result);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    static long mmap(final long length, final int protection, final int flags, final int fd, final long offset) {
        try {
            return (long) MMAP.invokeExact(CAPTURE.get(), 0L, length, protection, flags, fd, offset);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    static int munmap(final long address, final long length) {
        try {
            return (int) MUNMAP.invokeExact(CAPTURE.get(), address, length);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    static int madvise(final MemorySegment range, final int advice) {
        try {
            return (int) MADVISE.invokeExact(CAPTURE.get(), range, range.byteSize(), advice);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    static int mlock(final MemorySegment range) {
        try {
            return (int) MLOCK.invokeExact(CAPTURE.get(), range, range.byteSize());
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    static int memfdCreate(final MemorySegment name, final int flags) {
        try {
            return (int) MEMFD_CREATE.invokeExact(CAPTURE.get(), name, flags);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    static int isatty(final int fd) {
        try {
            return (int) ISATTY.invokeExact(CAPTURE.get(), fd);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    static int ioctl(final int fd, final long request, final MemorySegment argument) {
        try {
            return (int) IOCTL.invokeExact(CAPTURE.get(), fd, request, argument);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    /** The text belongs to the C library: constant for known numbers, per thread (glibc 2.32) for others. */
    static String strerror(final int errno) {
        final MemorySegment text;
        try {
            text = (MemorySegment) STRERROR.invokeExact(errno);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
        return text.reinterpret(Long.MAX_VALUE).getString(0);
    }

    private static MethodHandle link(final String name, final FunctionDescriptor type) {
        return LINKER.downcallHandle(LINKER.defaultLookup().find(name).orElseThrow(), type, ERRNO);
    }

    /** A variadic C function: arguments from {@code firstVariadic} on are passed by its rules. */
    private static MethodHandle link(final String name, final int firstVariadic, final FunctionDescriptor type) {
        return LINKER.downcallHandle(LINKER.defaultLookup().find(name).orElseThrow(), type, ERRNO,
            Linker.Option.firstVariadicArg(firstVariadic));
    }

    /**
     * A downcall itself throws only for a wrong type here (a bug), for a segment whose arena is closed or belongs to
     * another thread (the caller's mistake, an unchecked exception), or for want of memory.
     */
    private static RuntimeException unexpected(final Throwable e) {
        if (e instanceof RuntimeException runtime) {
            return runtime;
        }
        if (e instanceof Error error) {
            throw error;
        }
        throw new AssertionError("a downcall threw a checked exception", e);
    }
}
