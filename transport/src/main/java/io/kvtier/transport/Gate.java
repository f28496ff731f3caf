package io.kvtier.transport;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Counts the users of something, so that closing it can wait for them and nothing is pulled from under them.
 *
 * <p><b>Threading:</b> entering and leaving are lock-free. Who enters before {@link #close} is waited for, who comes
 * later is refused: both linearize at their compare-and-set of the one word. A wait cannot miss the last leaver: it
 * finds the word empty under the lock, or the leaver, who changes the word before it takes the lock, wakes it.
 */
public final class Gate {
    private static final long CLOSED = 1L << 62;

    private final AtomicLong state = new AtomicLong();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition empty = lock.newCondition();

    /** An open gate that nobody is inside of. */
    public Gate() {
        // Nothing is held.
    }

    /**
     * Enters. Every successful enter is paired with one {@link #leave()}.
     *
     * @return false when closed.
     */
    public boolean tryEnter() {
        long now = state.get();
        while ((now & CLOSED) == 0) {
            if (state.compareAndSet(now, now + 1)) {
                return true;
            }
            now = state.get();
        }
        return false;
    }

    /** Leaves, on any thread. */
    public void leave() {
        if (state.decrementAndGet() == CLOSED) {
            lock.lock();
            try {
                empty.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    /**
     * Whether it refuses.
     *
     * @return true once {@link #close()} was called.
     */
    public boolean isClosed() {
        return (state.get() & CLOSED) != 0;
    }

    /**
     * Refuses who comes from now on.
     *
     * @return true for the call that closed it.
     */
    public boolean close() {
        long now = state.get();
        while ((now & CLOSED) == 0) {
            if (state.compareAndSet(now, now | CLOSED)) {
                return true;
            }
            now = state.get();
        }
        return false;
    }

    /**
     * Waits until nobody is inside; to be called after {@link #close()}. An interrupt does not end the wait; it is kept
     * for the caller.
     *
     * @param timeoutMs milliseconds.
     * @return false when somebody is still inside.
     */
    public boolean awaitEmpty(final long timeoutMs) {
        long left = TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        lock.lock();
        try {
            while (state.get() != CLOSED && left > 0) {
                left = Uninterrupted.awaitNanos(empty, left);
            }
            return state.get() == CLOSED;
        } finally {
            lock.unlock();
        }
    }
}
