package io.kvtier.bindings.uring;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.kvtier.bindings.posix.Errno;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/**
 * The kernel itself, through the C library's {@code syscall}: it has no wrappers for io_uring's calls.
 *
 * <p>The arguments of {@code syscall} are declared as {@code long}, which is what it takes off its variadic list,
 * whatever the narrower type in the kernel. None of the calls is linked as {@code critical}: enter waits.
 */
@SuppressWarnings("restricted")
final class LinuxKernel implements UringKernel {
    static final LinuxKernel INSTANCE = new LinuxKernel();

    // sys/mman.h, sys/eventfd.h, fcntl.h and poll.h; the same on x86-64 and AArch64.
    static final int PROT_READ_WRITE = 3;
    static final int MAP_SHARED_POPULATE = 0x8001;
    static final int EFD_CLOEXEC = 0x80000;
    static final int O_CLOEXEC = 0x80000;
    static final short POLLHUP = 0x10;
    // struct pollfd
    static final long POLL_BYTES = 8;
    static final long POLL_DESCRIPTOR = 0;
    static final long POLL_EVENTS = 4;
    static final long POLL_RETURNED = 6;

    private static final Linker LINKER = Linker.nativeLinker();
    private static final StructLayout STATE = Linker.Option.captureStateLayout();
    private static final VarHandle STATE_ERRNO = STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
    private static final ThreadLocal<MemorySegment> CAPTURE =
        ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(STATE));
    private static final MemorySegment ONE = Arena.global().allocateFrom(JAVA_LONG, 1);

    private static final MethodHandle SETUP = link("syscall", true,
        FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS));
    private static final MethodHandle ENTER = link("syscall", true,
        FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG));
    private static final MethodHandle REGISTER = link("syscall", true,
        FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG));
    private static final MethodHandle MMAP = link("mmap", false,
        FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
    private static final MethodHandle MUNMAP = link("munmap", false,
        FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle EVENTFD = link("eventfd", false,
        FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
    private static final MethodHandle WRITE = link("write", false,
        FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG));
    private static final MethodHandle PIPE2 = link("pipe2", false,
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
    private static final MethodHandle POLL = link("poll", false,
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));
    private static final MethodHandle CLOSE = link("close", false, FunctionDescriptor.of(JAVA_INT, JAVA_INT));

    private LinuxKernel() {
    }

    @Override
    public int setup(final int entries, final MemorySegment params) {
        final MemorySegment state = CAPTURE.get();
        try {
            return result((long) SETUP.invokeExact(state, UringLayout.SYS_SETUP, (long) entries, params), state);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int enter(final int ring, final int submit, final int complete, final int flags,
                     final MemorySegment argument) {
        final MemorySegment state = CAPTURE.get();
        try {
            return result((long) ENTER.invokeExact(state, UringLayout.SYS_ENTER, (long) ring, (long) submit,
                (long) complete, (long) flags, argument, argument.byteSize()), state);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int register(final int ring, final int operation, final MemorySegment argument, final int count) {
        final MemorySegment state = CAPTURE.get();
        try {
            return result((long) REGISTER.invokeExact(state, UringLayout.SYS_REGISTER, (long) ring, (long) operation,
                argument, (long) count), state);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public long map(final int ring, final long offset, final long length) {
        final MemorySegment state = CAPTURE.get();
        try {
            final long address = (long) MMAP.invokeExact(state, 0L, length, PROT_READ_WRITE, MAP_SHARED_POPULATE,
                ring, offset);
            return address == -1 ? -(int) STATE_ERRNO.get(state, 0L) : address;
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public void unmap(final long address, final long length) {
        final MemorySegment state = CAPTURE.get();
        final int result;
        try {
            result = (int) MUNMAP.invokeExact(state, address, length);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
        if (result != 0) {
            throw new AssertionError("munmap of a ring refused: errno " + (int) STATE_ERRNO.get(state, 0L));
        }
    }

    @Override
    public int eventDescriptor() {
        final MemorySegment state = CAPTURE.get();
        try {
            return result((int) EVENTFD.invokeExact(state, 0, EFD_CLOEXEC), state);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    @Override
    public int wake(final int descriptor) {
        final MemorySegment state = CAPTURE.get();
        int result;
        do {
            try {
                result = result((long) WRITE.invokeExact(state, descriptor, ONE, ONE.byteSize()), state);
            } catch (final Throwable e) {
                throw unexpected(e);
            }
        } while (result == -Errno.EINTR);
        return Math.min(result, 0);
    }

    @Override
    public long pipe() {
        final MemorySegment state = CAPTURE.get();
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment ends = scratch.allocate(JAVA_INT, 2);
            final int result = result((int) PIPE2.invokeExact(state, ends, O_CLOEXEC), state);
            return result < 0 ? result : ends.getAtIndex(JAVA_INT, 0)
                | (long) ends.getAtIndex(JAVA_INT, 1) << Integer.SIZE;
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    /** A hang-up is reported whether asked for or not, so no event is. A signal only shortens one wait of many. */
    @Override
    public int awaitHangUp(final int readingEnd, final int limitMs) {
        final MemorySegment state = CAPTURE.get();
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment poll = scratch.allocate(POLL_BYTES, Integer.BYTES);
            poll.set(JAVA_INT, POLL_DESCRIPTOR, readingEnd);
            poll.set(JAVA_SHORT, POLL_EVENTS, (short) 0);
            final int result = result((int) POLL.invokeExact(state, poll, 1L, limitMs), state);
            return result <= 0 ? result : (poll.get(JAVA_SHORT, POLL_RETURNED) & POLLHUP) / POLLHUP;
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    /** Linux releases the number even when close reports an error (close(2)). */
    @Override
    public void close(final int descriptor) {
        final int ignored;
        try {
            ignored = (int) CLOSE.invokeExact(CAPTURE.get(), descriptor);
        } catch (final Throwable e) {
            throw unexpected(e);
        }
    }

    private static int result(final long result, final MemorySegment state) {
        return result == -1 ? -(int) STATE_ERRNO.get(state, 0L) : (int) result;
    }

    private static MethodHandle link(final String name, final boolean variadic, final FunctionDescriptor type) {
        final MemorySegment symbol = LINKER.defaultLookup().find(name).orElseThrow();
        final Linker.Option errno = Linker.Option.captureCallState("errno");
        return variadic ? LINKER.downcallHandle(symbol, type, errno, Linker.Option.firstVariadicArg(1))
            : LINKER.downcallHandle(symbol, type, errno);
    }

    /** See {@code Libc}: a wrong type here is a bug, a segment that is closed the caller's mistake. */
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
