package io.kvtier.store.master;

import io.kvtier.transport.Uninterrupted;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/**
 * Something that a thread of this process does with the state, between two commands.
 *
 * @param <T> what comes of it.
 */
final class StateCall<T> implements Entry, Uninterrupted.Ending {
    private final Thread thread = Thread.currentThread();
    private final Function<Running, T> work;
    private T result;
    private Throwable failure;
    private long nanos;
    private volatile boolean over;

    StateCall(final Function<Running, T> work) {
        this.work = work;
    }

    @Override
    public boolean apply(final Running running, final Parked parked) {
        final long began = System.nanoTime();
        try {
            result = work.apply(running);
        } catch (final RuntimeException | Error e) {
            // Whichever thread is at the state, it is that of others; the failure is only for who waits here.
            failure = e;
        }
        nanos = System.nanoTime() - began;
        return true;
    }

    @Override
    public void deliver() {
        over = true;
        if (thread != Thread.currentThread()) {
            LockSupport.unpark(thread);
        }
    }

    @Override
    public boolean isOver() {
        return over;
    }

    /**
     * Waits for the end.
     *
     * @throws RuntimeException that in which the work ended; an {@link Error} likewise.
     */
    T await() {
        Uninterrupted.park(this);
        if (failure instanceof Error error) {
            throw error;
        }
        if (failure instanceof RuntimeException refusal) {
            throw refusal;
        }
        return result;
    }

    /** After the end: how long nobody else could use the state. */
    long nanos() {
        return nanos;
    }
}
