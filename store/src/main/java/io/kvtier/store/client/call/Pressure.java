package io.kvtier.store.client.call;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Where puts wait for room. Whoever frees some counts the epoch up; a put reads the epoch, asks the master, and when
 * there is no room waits until the epoch has moved on, so that nothing freed in between is missed.
 *
 * <p><b>Threading:</b> thread-safe. Counting up without waiters takes no lock: the epoch is counted before the number
 * of waiters is read, and a waiter is counted before it reads the epoch, so one of the two sees the other.
 */
public final class Pressure {
    private final AtomicLong epoch = new AtomicLong();
    private final AtomicInteger waiters = new AtomicInteger();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition freed = lock.newCondition();

    /** How often something was freed, to be read before it is looked for. */
    public long epoch() {
        return epoch.get();
    }

    /** Something was freed: whoever waits looks again. */
    public void signal() {
        epoch.incrementAndGet();
        if (waiters.get() > 0) {
            lock.lock();
            try {
                freed.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    /** Waits until the epoch is no longer the one seen; false when the time ran out. */
    public boolean await(final long seen, final long deadlineNanos) throws InterruptedException {
        waiters.incrementAndGet();
        lock.lock();
        try {
            while (epoch.get() == seen) {
                final long left = deadlineNanos - System.nanoTime();
                if (left <= 0) {
                    return false;
                }
                freed.awaitNanos(left);
            }
            return true;
        } finally {
            lock.unlock();
            waiters.decrementAndGet();
        }
    }
}
