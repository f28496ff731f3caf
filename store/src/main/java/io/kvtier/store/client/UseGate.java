package io.kvtier.store.client;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts the calls that are inside, so that closing can wait for them and nothing is pulled from under them.
 *
 * <p><b>Threading:</b> lock-free. A call that entered before {@link #close} is waited for; one that comes later is
 * refused: both linearize at their compare-and-set of the one word.
 */
final class UseGate {
    private static final long CLOSED = 1L << 62;

    private final AtomicLong state = new AtomicLong();
    private final CountDownLatch empty = new CountDownLatch(1);

    /** Enters, or refuses because the gate is closed. Every enter is paired with one {@link #exit()}. */
    void enter() {
        long now = state.get();
        while (!state.compareAndSet(now, now + 1)) {
            now = state.get();
        }
        if ((now & CLOSED) != 0) {
            exit();
            throw closedException();
        }
    }

    void exit() {
        if (state.decrementAndGet() == CLOSED) {
            empty.countDown();
        }
    }

    boolean isClosed() {
        return (state.get() & CLOSED) != 0;
    }

    /** Refuses new calls. A second call does nothing. */
    void close() {
        long now = state.get();
        while ((now & CLOSED) == 0) {
            if (state.compareAndSet(now, now | CLOSED)) {
                if (now == 0) {
                    empty.countDown();
                }
                return;
            }
            now = state.get();
        }
    }

    /** Waits until nobody is inside; false when that took too long. */
    boolean awaitEmpty(final long timeoutMs) {
        boolean interrupted = false;
        final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        try {
            while (true) {
                try {
                    return empty.await(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (final InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    static StoreException closedException() {
        return new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "the store is closed; open another one");
    }
}
