package io.kvtier.transport.gds;

import io.kvtier.transport.Slice;
import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Slices on their way to the threads of a lane, in order. It is not bounded: the engine bounds what is under way. Once
 * it has been as long as it gets, adding makes no object.
 *
 * <p><b>Threading:</b> thread-safe. Adding wakes nobody, so that one {@link #wake()} does for the many slices of a
 * submit. <b>Blocking:</b> {@link #take} and {@link #await} wait.
 */
final class LaneQueue {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Slice> slices = new ArrayDeque<>();
    private boolean woken;
    private boolean closed;

    void add(final Slice slice) {
        lock.lock();
        try {
            slices.add(slice);
        } finally {
            lock.unlock();
        }
    }

    /** Wakes who waits, even when nothing was added: something else may be to be done. */
    void wake() {
        lock.lock();
        try {
            woken = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Lets threads end once it is empty. */
    void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Moves slices behind those of another queue, until that has so many. */
    void drainTo(final ArrayDeque<Slice> target, final int most) {
        lock.lock();
        try {
            while (target.size() < most && !slices.isEmpty()) {
                target.add(slices.poll());
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until there is a slice, somebody wakes, or some time has passed.
     *
     * @param nanos the longest wait; {@link Long#MAX_VALUE} for no limit.
     * @return false when it is closed and empty.
     */
    boolean await(final long nanos) {
        long left = nanos;
        lock.lock();
        try {
            while (slices.isEmpty() && !closed && !woken && left > 0) {
                left = pause(left);
            }
            woken = false;
            return !(closed && slices.isEmpty());
        } finally {
            lock.unlock();
        }
    }

    /** The next slice; null when it is closed and empty. */
    Slice take() {
        lock.lock();
        try {
            while (slices.isEmpty() && !closed) {
                pause(Long.MAX_VALUE);
            }
            return slices.poll();
        } finally {
            lock.unlock();
        }
    }

    /** An interrupt means nothing to these threads: they end when they are closed. */
    private long pause(final long nanos) {
        try {
            return changed.awaitNanos(nanos);
        } catch (final InterruptedException e) {
            return nanos;
        }
    }
}
