package io.kvtier.kit;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Mapping;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * One page of memory that stops whoever touches it, a system call included, until it is released: by
 * {@code userfaultfd(2)}, so that a test can look at a real read or write that has begun and not ended.
 */
@SuppressWarnings("restricted")
public final class BlockedMemory implements AutoCloseable {
    // linux/userfaultfd.h, the same on x86-64 and AArch64.
    private static final long UFFDIO_API = 0xc018aa3fL;
    private static final long UFFDIO_REGISTER = 0xc020aa00L;
    private static final long UFFD_API = 0xaa;
    private static final long MODE_MISSING = 1;
    private static final long MESSAGE_BYTES = 32;
    private static final long NUMBER = System.getProperty("os.arch").equals("aarch64") ? 282 : 323;

    private static final MethodHandle SYSCALL = link("syscall", 1,
        FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle IOCTL = link("ioctl", 2,
        FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));
    private static final MethodHandle READ = link("read", 3,
        FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG));
    private static final MethodHandle CLOSE = link("close", 1, FunctionDescriptor.of(JAVA_INT, JAVA_INT));

    private final Mapping mapping = Mapping.anonymous(NativeTag.TEST, Mapping.PAGE_BYTES);
    private final int fd;
    private boolean released;

    private BlockedMemory(final int fd) {
        this.fd = fd;
    }

    /** Makes such a page; skips the test where the kernel or the rights of this process do not allow it. */
    public static BlockedMemory open() {
        final int fd = (int) call(SYSCALL, NUMBER, 0L);
        NotExercised.require("userfaultfd", fd >= 0, "the kernel refuses userfaultfd to this process");
        final BlockedMemory memory = new BlockedMemory(fd);
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment api = arena.allocate(24, 8);
            api.set(JAVA_LONG, 0, UFFD_API);
            final MemorySegment range = arena.allocate(32, 8);
            range.set(JAVA_LONG, 0, memory.segment().address());
            range.set(JAVA_LONG, 8, Mapping.PAGE_BYTES);
            range.set(JAVA_LONG, 16, MODE_MISSING);
            if (call(IOCTL, fd, UFFDIO_API, api) != 0 || call(IOCTL, fd, UFFDIO_REGISTER, range) != 0) {
                memory.close();
                NotExercised.require("userfaultfd", false, "the kernel refuses to register memory");
            }
        }
        return memory;
    }

    public MemorySegment segment() {
        return mapping.segment();
    }

    /** The owner of the memory, to try to close it under a call. */
    public Mapping mapping() {
        return mapping;
    }

    /** Waits until somebody has touched the page, and is now held. */
    public void awaitTouched() {
        try (Arena arena = Arena.ofConfined()) {
            call(READ, fd, arena.allocate(MESSAGE_BYTES, 8), MESSAGE_BYTES);
        }
    }

    /** Lets everybody go on; the page then is an ordinary one. */
    public synchronized void release() {
        if (!released) {
            released = true;
            call(CLOSE, fd);
        }
    }

    @Override
    public void close() {
        release();
        mapping.close();
    }

    private static long call(final MethodHandle function, final Object... arguments) {
        try {
            return ((Number) function.invokeWithArguments(arguments)).longValue();
        } catch (final Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static MethodHandle link(final String name, final int firstVariadic, final FunctionDescriptor type) {
        final Linker linker = Linker.nativeLinker();
        final MemorySegment function = linker.defaultLookup().find(name).orElseThrow();
        return firstVariadic < type.argumentLayouts().size()
            ? linker.downcallHandle(function, type, Linker.Option.firstVariadicArg(firstVariadic))
            : linker.downcallHandle(function, type);
    }
}
