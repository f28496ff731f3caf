package io.kvtier.kit;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/** A clock of milliseconds that stands still until a test moves it. */
public final class ManualClock implements LongSupplier {
    private final AtomicLong nowMs;

    public ManualClock(final long startMs) {
        nowMs = new AtomicLong(startMs);
    }

    @Override
    public long getAsLong() {
        return nowMs.get();
    }

    /**
     * Lets time pass.
     *
     * @param ms milliseconds, not negative: time never runs backwards.
     * @return the new time.
     */
    public long advance(final long ms) {
        if (ms < 0) {
            throw new IllegalArgumentException("time cannot go back by " + -ms + " ms");
        }
        return nowMs.addAndGet(ms);
    }
}
