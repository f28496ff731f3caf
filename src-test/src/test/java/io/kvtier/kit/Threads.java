package io.kvtier.kit;

import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** Threads of tests. */
public final class Threads {
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
        boolean there = false;
        while (!there) {
            there = Stream.of(thread.getStackTrace()).anyMatch(frame ->
                frame.getClassName().equals(of.getName()) && frame.getMethodName().equals(method));
        }
    }

    /** The state of a thread in a system call is that of one that runs. */
    private static boolean selects(final Thread thread) {
        final StackTraceElement[] frames = thread.getStackTrace();
        return frames.length > 0 && frames[0].getClassName().equals("sun.nio.ch.EPoll")
            && frames[0].getMethodName().equals("wait");
    }
}
