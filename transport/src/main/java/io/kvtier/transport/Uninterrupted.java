package io.kvtier.transport;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;

/**
 * Waits that an interrupt does not end, because of what would come after them: memory freed under a transfer, a thread
 * that is still running, an answer that nobody takes. The interrupt is kept for the caller, who finds it as the
 * thread's flag.
 *
 * <p><b>Threading:</b> stateless. <b>Blocking:</b> as long as what is waited for does.
 */
public final class Uninterrupted {
    private Uninterrupted() {
    }

    /** Waits for something; begun again after an interrupt, so it must find out by itself what has come meanwhile. */
    @FunctionalInterface
    public interface Wait {
        /**
         * Waits.
         *
         * @throws InterruptedException when the thread is interrupted.
         */
        void await() throws InterruptedException;
    }

    /**
     * Waits for something that there is a result of; see {@link Wait}.
     *
     * @param <T> the result.
     */
    @FunctionalInterface
    public interface Result<T> {
        /**
         * Waits.
         *
         * @return the result.
         * @throws InterruptedException when the thread is interrupted.
         */
        T await() throws InterruptedException;
    }

    /** What a parked thread waits for; whoever makes it so unparks the thread. */
    public interface Ending {
        /**
         * Whether the wait is over.
         *
         * @return true from then on.
         */
        boolean isOver();
    }

    /**
     * Waits.
     *
     * @param wait for what.
     */
    public static void await(final Wait wait) {
        get(() -> {
            wait.await();
            return null;
        });
    }

    /**
     * Waits for a result.
     *
     * @param wait for what.
     * @param <T>  the result.
     * @return the result.
     */
    public static <T> T get(final Result<T> wait) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return wait.await();
                } catch (final InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            keep(interrupted);
        }
    }

    /**
     * Waits once on a condition, as {@link Condition#awaitNanos}. It may return early, and does at an interrupt, since
     * a signal for all may have been given while this thread was in no queue: the caller looks again at what it waits
     * for. An interrupt that was there before does not end it.
     *
     * @param condition whose lock the thread has.
     * @param nanos     nanoseconds, at most.
     * @return nanoseconds that are left; not positive when the time is over.
     */
    public static long awaitNanos(final Condition condition, final long nanos) {
        boolean interrupted = Thread.interrupted();
        final long begun = System.nanoTime();
        try {
            return condition.awaitNanos(nanos);
        } catch (final InterruptedException e) {
            interrupted = true;
            return nanos - (System.nanoTime() - begun);
        } finally {
            keep(interrupted);
        }
    }

    /**
     * Parks the thread until something is over. Allocates nothing.
     *
     * @param ending what is waited for, which a thread dump shows.
     */
    public static void park(final Ending ending) {
        boolean interrupted = false;
        while (!ending.isOver()) {
            LockSupport.park(ending);
            interrupted |= Thread.interrupted();
        }
        keep(interrupted);
    }

    private static void keep(final boolean interrupted) {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
