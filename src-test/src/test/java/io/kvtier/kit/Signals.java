package io.kvtier.kit;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * Signals to threads of this process that interrupt the system call that a thread is in and do nothing else. SIGURG is
 * used by nobody here; its handler is {@code abs} of the C library, which may be called with any number at any time.
 */
public final class Signals implements AutoCloseable {
    private static final int SIGURG = 23;
    private static final Linker LINKER = Linker.nativeLinker();

    private final MethodHandle handle = function("signal", FunctionDescriptor.of(ADDRESS, JAVA_INT, ADDRESS));
    private final MethodHandle send =
        function("tgkill", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT));
    private final MemorySegment before;

    private Signals() {
        before = handler(LINKER.defaultLookup().find("abs").orElseThrow());
        try {
            // The kernel would go on with the call by itself else.
            final int ignored = (int) function("siginterrupt", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT))
                .invokeExact(SIGURG, 1);
        } catch (final Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Catches the signal until this is closed. */
    public static Signals open() {
        // glibc has them by these names since 2.30.
        for (final String function : new String[] {"gettid", "tgkill"}) {
            NotExercised.require("signals", LINKER.defaultLookup().find(function).isPresent(),
                "the C library has no " + function);
        }
        return new Signals();
    }

    /** The number of the calling platform thread, by which others can interrupt it. */
    public static int self() {
        try {
            return (int) function("gettid", FunctionDescriptor.of(JAVA_INT)).invokeExact();
        } catch (final Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Interrupts a thread; does nothing when it has ended. */
    public void interrupt(final int thread) {
        try {
            final int ignored = (int) send.invokeExact((int) ProcessHandle.current().pid(), thread, SIGURG);
        } catch (final Throwable e) {
            throw new AssertionError(e);
        }
    }

    private MemorySegment handler(final MemorySegment next) {
        try {
            return (MemorySegment) handle.invokeExact(SIGURG, next);
        } catch (final Throwable e) {
            throw new AssertionError(e);
        }
    }

    @SuppressWarnings("restricted")
    private static MethodHandle function(final String name, final FunctionDescriptor type) {
        return LINKER.downcallHandle(LINKER.defaultLookup().find(name).orElseThrow(), type);
    }

    @Override
    public void close() {
        handler(before);
    }
}
