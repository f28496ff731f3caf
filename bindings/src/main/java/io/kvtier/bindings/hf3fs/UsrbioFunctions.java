package io.kvtier.bindings.hf3fs;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.List;

/**
 * Downcalls to USRBIO, one method each, arguments and results as {@code hf3fs_usrbio.h} has them. Errors are results
 * (a negative error number, or a positive one of {@code hf3fs_reg_fd}), so nothing captures errno. None is linked as
 * {@code critical}: preparing takes a lock, submitting wakes another process, and all others make system calls that a
 * file system answers.
 *
 * <p>Structs are passed as segments. An address inside them or a cookie goes as a number, which C takes alike and which
 * costs no object.
 */
@SuppressWarnings("restricted")
final class UsrbioFunctions {
    /** All that are called. */
    static final List<String> SYMBOLS = List.of("hf3fs_is_hf3fs", "hf3fs_extract_mount_point", "hf3fs_iovcreate",
        "hf3fs_iovopen", "hf3fs_iovdestroy", "hf3fs_ior_size", "hf3fs_iorcreate4", "hf3fs_iordestroy", "hf3fs_reg_fd",
        "hf3fs_dereg_fd", "hf3fs_io_entries", "hf3fs_prep_io", "hf3fs_submit_ios", "hf3fs_wait_for_ios");

    private final MethodHandle isHf3fs;
    private final MethodHandle extractMountPoint;
    private final MethodHandle iovCreate;
    private final MethodHandle iovOpen;
    private final MethodHandle iovDestroy;
    private final MethodHandle iorSize;
    private final MethodHandle iorCreate;
    private final MethodHandle iorDestroy;
    private final MethodHandle regFd;
    private final MethodHandle deregFd;
    private final MethodHandle ioEntries;
    private final MethodHandle prepIo;
    private final MethodHandle submitIos;
    private final MethodHandle waitForIos;

    /** Links all of them; fails with a NoSuchElementException when one is missing. */
    UsrbioFunctions(final SymbolLookup library) {
        isHf3fs = link(library, "hf3fs_is_hf3fs", FunctionDescriptor.of(JAVA_BOOLEAN, JAVA_INT));
        extractMountPoint = link(library, "hf3fs_extract_mount_point",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, ADDRESS));
        iovCreate = link(library, "hf3fs_iovcreate",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_INT));
        iovOpen = link(library, "hf3fs_iovopen",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_INT));
        iovDestroy = link(library, "hf3fs_iovdestroy", FunctionDescriptor.ofVoid(ADDRESS));
        iorSize = link(library, "hf3fs_ior_size", FunctionDescriptor.of(JAVA_LONG, JAVA_INT));
        iorCreate = link(library, "hf3fs_iorcreate4", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT,
            JAVA_BOOLEAN, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
        iorDestroy = link(library, "hf3fs_iordestroy", FunctionDescriptor.ofVoid(ADDRESS));
        regFd = link(library, "hf3fs_reg_fd", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG));
        deregFd = link(library, "hf3fs_dereg_fd", FunctionDescriptor.ofVoid(JAVA_INT));
        ioEntries = link(library, "hf3fs_io_entries", FunctionDescriptor.of(JAVA_INT, ADDRESS));
        prepIo = link(library, "hf3fs_prep_io", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_BOOLEAN,
            JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));
        submitIos = link(library, "hf3fs_submit_ios", FunctionDescriptor.of(JAVA_INT, ADDRESS));
        waitForIos = link(library, "hf3fs_wait_for_ios",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT, JAVA_INT, ADDRESS));
    }

    boolean isHf3fs(final int fd) {
        try {
            return (boolean) isHf3fs.invokeExact(fd);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    int extractMountPoint(final MemorySegment buffer, final int size, final MemorySegment path) {
        try {
            return (int) extractMountPoint.invokeExact(buffer, size, path);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    int iovCreate(final MemorySegment iov, final MemorySegment mountPoint, final long size, final long blockSize,
        final int numa) {
        try {
            return (int) iovCreate.invokeExact(iov, mountPoint, size, blockSize, numa);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    int iovOpen(final MemorySegment iov, final MemorySegment id, final MemorySegment mountPoint, final long size,
        final long blockSize, final int numa) {
        try {
            return (int) iovOpen.invokeExact(iov, id, mountPoint, size, blockSize, numa);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    void iovDestroy(final MemorySegment iov) {
        try {
            iovDestroy.invokeExact(iov);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    long iorSize(final int entries) {
        try {
            return (long) iorSize.invokeExact(entries);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    @SuppressWarnings("checkstyle:ParameterNumber") // The function of the library has that many.
    int iorCreate(final MemorySegment ior, final MemorySegment mountPoint, final int entries, final boolean forRead,
        final int depth, final int timeoutMs, final int numa, final long flags) {
        try {
            return (int) iorCreate.invokeExact(ior, mountPoint, entries, forRead, depth, timeoutMs, numa, flags);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    void iorDestroy(final MemorySegment ior) {
        try {
            iorDestroy.invokeExact(ior);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    int regFd(final int fd) {
        try {
            return (int) regFd.invokeExact(fd, 0L);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    void deregFd(final int fd) {
        try {
            deregFd.invokeExact(fd);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    int ioEntries(final MemorySegment ior) {
        try {
            return (int) ioEntries.invokeExact(ior);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    @SuppressWarnings("checkstyle:ParameterNumber") // The function of the library has that many.
    int prepIo(final MemorySegment ior, final MemorySegment iov, final boolean read, final long address, final int fd,
        final long offset, final long length, final long userData) {
        try {
            return (int) prepIo.invokeExact(ior, iov, read, address, fd, offset, length, userData);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    int submitIos(final MemorySegment ior) {
        try {
            return (int) submitIos.invokeExact(ior);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    int waitForIos(final MemorySegment ior, final MemorySegment completions, final int count, final int minimum,
        final MemorySegment deadline) {
        try {
            return (int) waitForIos.invokeExact(ior, completions, count, minimum, deadline);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    private static MethodHandle link(final SymbolLookup library, final String name, final FunctionDescriptor type) {
        return Linker.nativeLinker().downcallHandle(library.find(name).orElseThrow(), type);
    }

    /** Only a bug (a wrong type, memory that is closed) or want of memory makes a downcall throw. */
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
