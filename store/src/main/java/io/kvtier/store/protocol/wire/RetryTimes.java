package io.kvtier.store.protocol.wire;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** The time of a call: what is left of it, and pauses between attempts. <b>Threading:</b> for one thread. */
final class RetryTimes {
    private static final long FIRST_PAUSE_MS = 5;
    private static final long MAX_PAUSE_MS = 500;

    private final long limitMs;
    private final long startNanos = System.nanoTime();
    private long pauseMs = FIRST_PAUSE_MS;

    RetryTimes(final long limitMs) {
        this.limitMs = limitMs;
    }

    long limitMs() {
        return limitMs;
    }

    long spentMs() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
    }

    /** At least 1, which is what a call takes. */
    long leftMs() {
        return Math.max(1, limitMs - spentMs());
    }

    /** Waits before the next attempt; false when that would be too late, or this thread is interrupted. */
    boolean pause() {
        if (spentMs() + pauseMs >= limitMs) {
            return false;
        }
        final long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(pauseMs);
        pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
        while (until - System.nanoTime() > 0) {
            if (Thread.currentThread().isInterrupted()) {
                return false;
            }
            LockSupport.parkNanos(this, until - System.nanoTime());
        }
        return true;
    }
}
