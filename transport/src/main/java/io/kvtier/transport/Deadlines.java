package io.kvtier.transport;

import java.lang.System.Logger;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The transfers that run with a time limit, and the thread that stops those that are late.
 *
 * <p>Nearly all of them end long before. So the thread sleeps until the earliest time it knew of when it last looked,
 * and is woken for an earlier one only; that transfer's end does not wake it. A transfer costs two short locks, no
 * object and no thread switch, where a queue whose first entry came and went with each transfer would wake its thread
 * each time. When it looks it goes over all that run, which the engine bounds, at most once a millisecond.
 *
 * <p><b>Threading:</b> thread-safe; the list is under the lock, and the lock is not held while transfers are stopped.
 * <b>Lifetime:</b> the thread starts with the first time limit and ends with {@link #close()}.
 */
final class Deadlines implements AutoCloseable {
    /** What is to be stopped; in one list at most. */
    static final class Deadline {
        private final Transfer transfer;
        private long round;
        private long timeoutMs;
        private long dueNanos;
        private boolean listed;
        private Deadline before;
        private Deadline after;

        Deadline(final Transfer transfer) {
            this.transfer = transfer;
        }
    }

    /** One that is late; its round, as the transfer may be used again before it is stopped. */
    private record Late(Transfer transfer, long round, long timeoutMs) {
    }

    private static final Logger LOG = System.getLogger(Deadlines.class.getName());
    private static final long LEAST_SLEEP_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition earlier = lock.newCondition();
    private final long born = System.nanoTime();
    /** Stands before the first and behind the last. */
    private final Deadline ring = new Deadline(null);
    /** When the thread looks next; nanoseconds after the birth, like all times here, so that they can be compared. */
    private long nextLook = Long.MAX_VALUE;
    private Thread thread;
    private boolean closed;

    Deadlines() {
        ring.before = ring;
        ring.after = ring;
    }

    /**
     * From now on a transfer's present round is stopped when its time is over.
     *
     * @param timeoutMs how long it had, for the message.
     * @param dueNanos  when it is over, of {@link System#nanoTime()}.
     * @throws OutOfMemoryError when no thread can be had to look after it.
     */
    void add(final Deadline deadline, final long round, final long timeoutMs, final long dueNanos) {
        lock.lock();
        try {
            if (thread == null) {
                final Thread first = IoThreads.newThread("kvtier-deadlines", this::run);
                first.start();
                thread = first;
            }
            deadline.round = round;
            deadline.timeoutMs = timeoutMs;
            deadline.dueNanos = dueNanos - born;
            deadline.listed = true;
            deadline.before = ring.before;
            deadline.after = ring;
            ring.before.after = deadline;
            ring.before = deadline;
            if (deadline.dueNanos < nextLook) {
                nextLook = deadline.dueNanos;
                earlier.signal();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Forgets it; does nothing when it is late already, or was never added. */
    void remove(final Deadline deadline) {
        lock.lock();
        try {
            unlink(deadline);
        } finally {
            lock.unlock();
        }
    }

    /** Ends the thread, without waiting for it; what is listed is not stopped any more. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            earlier.signal();
        } finally {
            lock.unlock();
        }
    }

    private long now() {
        return System.nanoTime() - born;
    }

    private static void unlink(final Deadline deadline) {
        if (deadline.listed) {
            deadline.listed = false;
            deadline.before.after = deadline.after;
            deadline.after.before = deadline.before;
            deadline.before = null;
            deadline.after = null;
        }
    }

    private void run() {
        final List<Late> late = new ArrayList<>();
        while (awaitLate(late)) {
            late.forEach(Deadlines::stop);
            late.clear();
        }
    }

    private static void stop(final Late late) {
        try {
            late.transfer().late(late.round(), late.timeoutMs());
        } catch (final RuntimeException | Error e) {
            // A transport that cannot be told. The thread lives on: nobody else would end what is late.
            LOG.log(Logger.Level.ERROR, "a transfer that is late could not be stopped; it ends by itself", e);
        }
    }

    /** Waits until some are late; false when closed. */
    private boolean awaitLate(final List<Late> late) {
        lock.lock();
        try {
            while (!closed && late.isEmpty()) {
                final long now = now();
                if (now < nextLook) {
                    sleep(now);
                } else {
                    takeLate(now, late);
                }
            }
            return !closed;
        } finally {
            lock.unlock();
        }
    }

    private void sleep(final long now) {
        try {
            if (nextLook == Long.MAX_VALUE) {
                earlier.await();
            } else {
                earlier.awaitNanos(nextLook - now);
            }
        } catch (final InterruptedException e) {
            // Nobody has a reason to interrupt it; the time is looked at again.
            return;
        }
    }

    private void takeLate(final long now, final List<Late> late) {
        long next = Long.MAX_VALUE;
        Deadline one = ring.after;
        while (one != ring) {
            final Deadline following = one.after;
            if (one.dueNanos <= now) {
                late.add(new Late(one.transfer, one.round, one.timeoutMs));
                unlink(one);
            } else {
                next = Math.min(next, one.dueNanos);
            }
            one = following;
        }
        nextLook = next == Long.MAX_VALUE ? next : Math.max(next, now + LEAST_SLEEP_NANOS);
    }
}
