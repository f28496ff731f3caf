package io.kvtier.kit;

import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** Threads of tests. */
public final class Threads {
    /** So short that nobody waits for it, so long that those who are waited for have the processor. */
    private static final long PAUSE_NANOS = 1_000_000;

    private Threads() {
    }

    /** Runs something on a platform thread of its own. */
    public static <T> CompletableFuture<T> start(final Supplier<T> body) {
        return CompletableFuture.supplyAsync(body, command -> Thread.ofPlatform().daemon().start(command));
    }

    /** Runs something on a platform thread of its own. */
    public static CompletableFuture<Void> start(final Runnable body) {
        return CompletableFuture.runAsync(body, command -> Thread.ofPlatform().daemon().start(command));
    }

    /**
     * Waits until something holds that another thread brings about. Whoever finds that a test takes too long ends it by
     * an interrupt, which ends this too.
     *
     * @param so    whether it holds; asked again and again.
     * @param state what there is instead, for people.
     */
    public static void awaitUntil(final BooleanSupplier so, final Supplier<?> state) {
        while (!so.getAsBoolean()) {
            if (Thread.interrupted()) {
                throw new AssertionError("waited in vain: " + state.get());
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    /**
     * Waits until a thread waits for something, for channels of a selector too, or has ended, without saying for how
     * long.
     *
     * @param thread the thread, started.
     * @return whether it is waiting, and has not ended.
     */
    public static boolean awaitWaiting(final Thread thread) {
        while (true) {
            final Thread.State state = thread.getState();
            if (state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING) {
                return true;
            }
            if (state == Thread.State.TERMINATED) {
                return false;
            }
            if (selects(thread)) {
                return true;
            }
            Thread.onSpinWait();
        }
    }

    /**
     * Waits until a thread is inside a method, however deep.
     *
     * @param thread the thread, which will be there and stay.
     * @param of     the class of the method.
     * @param method its name.
     */
    public static void awaitInside(final Thread thread, final Class<?> of, final String method) {
        awaitUntil(() -> {
            if (!thread.isAlive()) {
                throw new AssertionError("the thread has ended, and did not stay in " + method);
            }
            return Stream.of(thread.getStackTrace()).anyMatch(frame ->
                frame.getClassName().equals(of.getName()) && frame.getMethodName().equals(method));
        }, () -> method + " is not among " + Arrays.toString(thread.getStackTrace()));
    }

    /** The state of a thread in a system call is that of one that runs. */
    private static boolean selects(final Thread thread) {
        final StackTraceElement[] frames = thread.getStackTrace();
        return frames.length > 0 && frames[0].getClassName().equals("sun.nio.ch.EPoll")
            && frames[0].getMethodName().equals("wait");
    }
}
