package io.kvtier.transport;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Durations by size, in steps that grow with them: four to each power of two, so that a bound is at most a quarter
 * above what was recorded. One addition a record, which is why this is not one of the libraries for it.
 *
 * <p><b>Threading:</b> recording is wait-free; a snapshot taken meanwhile may miss the last ones.
 */
final class LatencyHistogram {
    private static final int SUB_BITS = 2;
    private static final int SUBS = 1 << SUB_BITS;
    private static final int BUCKETS = (Long.SIZE - SUB_BITS) * SUBS;

    private final AtomicLongArray counts = new AtomicLongArray(BUCKETS);

    void record(final long nanos) {
        counts.getAndIncrement(bucket(Math.max(0, nanos)));
    }

    LatencyStats stats() {
        final long[] copy = new long[BUCKETS];
        long total = 0;
        for (int i = 0; i < BUCKETS; i++) {
            copy[i] = counts.get(i);
            total += copy[i];
        }
        return new LatencyStats(total, quantile(copy, total, 50), quantile(copy, total, 99),
            quantile(copy, total, 100));
    }

    static int bucket(final long nanos) {
        if (nanos < SUBS) {
            return (int) nanos;
        }
        final int exponent = Long.SIZE - 1 - Long.numberOfLeadingZeros(nanos);
        return (exponent - SUB_BITS + 1) * SUBS + (int) (nanos >>> exponent - SUB_BITS & SUBS - 1);
    }

    /** Greatest duration that goes into a bucket. */
    static long bound(final int bucket) {
        if (bucket < SUBS) {
            return bucket;
        }
        final int shift = bucket / SUBS - 1;
        return ((long) (SUBS + bucket % SUBS + 1) << shift) - 1;
    }

    private static long quantile(final long[] counts, final long total, final int percent) {
        final long wanted = (total * percent + 99) / 100;
        long seen = 0;
        for (int i = 0; i < counts.length; i++) {
            seen += counts[i];
            if (seen >= wanted && seen > 0) {
                return bound(i);
            }
        }
        return 0;
    }
}
