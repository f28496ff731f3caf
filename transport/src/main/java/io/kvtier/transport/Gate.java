package io.kvtier.transport;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Counts the transfers that use something, so that closing it can wait for them and nothing is pulled from under them.
 *
 * <p><b>Threading:</b> entering and leaving are lock-free. Who enters before {@link #close} is waited for, who comes
 * later is refused: both linearize at their compare-and-set of the one word. A wait cannot miss the last leaver: it
 * finds the word empty under the lock, or the leaver, who changes the word before it takes the lock, wakes it.
 */
final class Gate {
    private static final long CLOSED = 1L << 62;

    private final AtomicLong state = new AtomicLong();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition empty = lock.newCondition();

    /** Enters; false when closed. Every enter is paired with one {@link #leave()}. */
    boolean tryEnter() {
        long now = state.get();
        while ((now & CLOSED) == 0) {
            if (state.compareAndSet(now, now + 1)) {
                return true;
            }
            now = state.get();
        }
        return false;
    }

    void leave() {
        if (state.decrementAndGet() == CLOSED) {
            lock.lock();
            try {
                empty.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    boolean isClosed() {
        return (state.get() & CLOSED) != 0;
    }

    /** Refuses who comes from now on; true for the call that closed it. */
    boolean close() {
        long now = state.get();
        while ((now & CLOSED) == 0) {
            if (state.compareAndSet(now, now | CLOSED)) {
                return true;
            }
            now = state.get();
        }
        return false;
    }

    /** Waits until nobody is inside. An interrupt does not end the wait; it is kept for the caller. */
    boolean awaitEmpty(final long timeoutMs) {
        long left = TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        boolean interrupted = false;
        lock.lock();
        try {
            while (state.get() != CLOSED && left > 0) {
                try {
                    left = empty.awaitNanos(left);
                } catch (final InterruptedException e) {
                    interrupted = true;
                }
            }
            return state.get() == CLOSED;
        } finally {
            lock.unlock();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
