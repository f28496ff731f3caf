package io.kvtier.transport;

import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * How many slices and bytes an engine has under way: the one bound of everything that may queue in its transports.
 *
 * <pre>
 *   bit 63     62..44               43..0
 *   closed  |  slices under way  |  bytes under way
 * </pre>
 *
 * <p>A transfer that alone is larger than a limit is charged the limit: it is let in once nothing else is under way,
 * and nothing else is let in beside it.
 *
 * <p><b>Threading:</b> taking and giving back are one compare-and-set while nobody waits. Who must wait does so in the
 * order of arrival, and nobody overtakes: the word is only tried by the first of the queue, or by a newcomer that finds
 * the queue empty. A waiter counts itself before it looks at the word, and who gives back changes the word before it
 * looks at the count, so one of the two sees the other.
 */
final class Admission {
    /** Most slices that fit the word. */
    static final long MAX_SLICES = (1L << 19) - 1;
    /** Most bytes that fit the word. */
    static final long MAX_BYTES = (1L << 44) - 1;

    enum Answer { ADMITTED, FULL, TIMEOUT, CLOSED }

    private static final int SLICE_SHIFT = 44;
    private static final long CLOSED = 1L << 63;

    private final long maxSlices;
    private final long maxBytes;
    private final AtomicLong state = new AtomicLong();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Object> queue = new ArrayDeque<>();
    private volatile int waiting;

    Admission(final long maxSlices, final long maxBytes) {
        this.maxSlices = maxSlices;
        this.maxBytes = maxBytes;
    }

    /** What a transfer is charged; to be given back unchanged. */
    long charge(final long slices, final long bytes) {
        return Math.min(slices, maxSlices) << SLICE_SHIFT | Math.min(bytes, maxBytes);
    }

    /**
     * Takes room.
     *
     * @param charge       from {@link #charge}.
     * @param wait         whether to wait for room.
     * @param deadlineNanos of {@link System#nanoTime()}; 0 for none.
     */
    Answer take(final long charge, final boolean wait, final long deadlineNanos) {
        if (waiting == 0) {
            final Answer answer = tryTake(charge);
            if (answer != Answer.FULL) {
                return answer;
            }
        }
        return wait ? await(charge, deadlineNanos) : isClosed() ? Answer.CLOSED : Answer.FULL;
    }

    void giveBack(final long charge) {
        state.getAndAdd(-charge);
        if (waiting > 0) {
            signal();
        }
    }

    /** Refuses who comes from now on, and who waits. */
    void close() {
        state.getAndUpdate(now -> now | CLOSED);
        signal();
    }

    boolean isClosed() {
        return state.get() < 0;
    }

    /** Waits until nothing is under way, for some nanoseconds; call after {@link #close()}. Keeps an interrupt. */
    boolean awaitEmpty(final long timeoutNanos) {
        long left = timeoutNanos;
        lock.lock();
        waiting++;
        try {
            while (state.get() != CLOSED && left > 0) {
                left = Uninterrupted.awaitNanos(changed, left);
            }
            return state.get() == CLOSED;
        } finally {
            waiting--;
            lock.unlock();
        }
    }

    long slices() {
        return (state.get() & ~CLOSED) >>> SLICE_SHIFT;
    }

    long bytes() {
        return state.get() & MAX_BYTES;
    }

    private Answer tryTake(final long charge) {
        long now = state.get();
        while (now >= 0) {
            final long after = now + charge;
            if (now >>> SLICE_SHIFT > maxSlices - (charge >>> SLICE_SHIFT)
                || (now & MAX_BYTES) > maxBytes - (charge & MAX_BYTES)) {
                return Answer.FULL;
            }
            if (state.compareAndSet(now, after)) {
                return Answer.ADMITTED;
            }
            now = state.get();
        }
        return Answer.CLOSED;
    }

    private Answer await(final long charge, final long deadlineNanos) {
        final Object place = new Object();
        lock.lock();
        waiting++;
        queue.add(place);
        try {
            while (true) {
                if (isClosed()) {
                    return Answer.CLOSED;
                }
                if (queue.peek() == place && tryTake(charge) == Answer.ADMITTED) {
                    return Answer.ADMITTED;
                }
                final long left = deadlineNanos == 0 ? Long.MAX_VALUE : deadlineNanos - System.nanoTime();
                if (left <= 0) {
                    return Answer.TIMEOUT;
                }
                Uninterrupted.awaitNanos(changed, left);
            }
        } finally {
            queue.remove(place);
            waiting--;
            // The next one may fit already; it has been asleep while this one was the first.
            changed.signalAll();
            lock.unlock();
        }
    }

    private void signal() {
        lock.lock();
        try {
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
