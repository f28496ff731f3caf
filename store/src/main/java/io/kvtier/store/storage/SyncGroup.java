package io.kvtier.store.storage;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Makes what many threads have written to one file or device durable, with one call at a time for all who wait: a call
 * covers whoever had written when it began.
 *
 * <p>The kernel tells of a write that was lost to one call only, whoever makes it, and the next one succeeds. So a call
 * that fails has failed for all who had begun to write by then: each asks for {@link #failures()} before it writes, and
 * gives that number to {@link #sync}. Who does not want what was opened before a failure any more gives
 * {@link #SINCE_OPENED}, and opens it anew.
 *
 * <p><b>Threading:</b> thread-safe; the lock is not held during a call. <b>Blocking:</b> for at most two calls.
 * <b>Errors:</b> what a call throws is returned, to all whom it concerns.
 */
public final class SyncGroup {
    /** In place of {@link #failures()}: no call may ever have failed. */
    public static final long SINCE_OPENED = 0;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    /** Calls that have begun, and that have ended: at most one less. */
    private long begun;
    private long ended;
    private long failures;
    /** What the last call threw that failed. */
    private Throwable problem;

    /** Of something just opened. */
    public SyncGroup() {
        // Nothing is under way.
    }

    /**
     * How many calls have failed; to be asked before anything is written that shall be made durable.
     *
     * @return the number.
     */
    public long failures() {
        lock.lock();
        try {
            return failures;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until a call that begins from now on has ended, or one has failed.
     *
     * @param failuresBefore what {@link #failures()} said before the bytes were written, or {@link #SINCE_OPENED}.
     * @param call           makes the bytes durable, or throws.
     * @return null when they are, else what a call has thrown since.
     */
    public Throwable sync(final long failuresBefore, final Runnable call) {
        lock.lock();
        try {
            final long needed = begun + 1;
            while (failures == failuresBefore && ended < needed) {
                if (begun > ended) {
                    changed.awaitUninterruptibly();
                } else {
                    one(call);
                }
            }
            return failures == failuresBefore ? null : problem;
        } finally {
            lock.unlock();
        }
    }

    private void one(final Runnable call) {
        begun++;
        lock.unlock();
        Throwable thrown = null;
        try {
            call.run();
        } catch (final RuntimeException | Error e) {
            // An error too: those who wait for this call would never be told.
            thrown = e;
        } finally {
            lock.lock();
            ended = begun;
            if (thrown != null) {
                failures++;
                problem = thrown;
            }
            changed.signalAll();
        }
    }
}
