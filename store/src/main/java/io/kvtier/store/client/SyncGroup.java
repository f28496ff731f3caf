package io.kvtier.store.client;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Makes what many threads have written to one device durable, with one call at a time for all who wait: a call covers
 * whoever had written when it began.
 *
 * <p>The kernel tells of a write that was lost to one call only, whoever makes it, and the next one succeeds. So once a
 * call has failed, all fail: the device is to be opened anew.
 *
 * <p><b>Threading:</b> thread-safe; the lock is not held during a call. <b>Blocking:</b> for at most two calls.
 */
final class SyncGroup {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    /** Calls that have begun, and that have ended: at most one less. */
    private long begun;
    private long ended;
    private String problem;

    /**
     * Waits until a call that begins from now on has ended.
     *
     * @param call makes the bytes durable, or throws.
     * @return null when they are, else why not.
     */
    String sync(final Runnable call) {
        lock.lock();
        try {
            final long needed = begun + 1;
            while (problem == null && ended < needed) {
                if (begun > ended) {
                    changed.awaitUninterruptibly();
                } else {
                    one(call);
                }
            }
            return problem;
        } finally {
            lock.unlock();
        }
    }

    private void one(final Runnable call) {
        begun++;
        lock.unlock();
        String outcome = "it was broken off";
        try {
            call.run();
            outcome = null;
        } catch (final RuntimeException e) {
            outcome = String.valueOf(e.getMessage());
        } finally {
            lock.lock();
            ended = begun;
            problem = outcome;
            changed.signalAll();
        }
    }
}
