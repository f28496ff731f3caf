package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The figures are bounds from above, at most a quarter too large. */
class LatencyHistogramTest {
    @Test
    void shouldBoundEveryDurationFromAboveByAtMostAQuarter() {
        final SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 100_000; i++) {
            final long nanos = random.nextLong() >>> 1 + random.nextInt(62);
            final long bound = LatencyHistogram.bound(LatencyHistogram.bucket(nanos));
            assertTrue(bound >= nanos, nanos + " is above its bound " + bound);
            assertTrue(bound - nanos <= nanos / 4, nanos + " is far below its bound " + bound);
        }
    }

    @Test
    void shouldGiveTheQuantilesOfWhatWasRecorded() {
        final LatencyHistogram histogram = new LatencyHistogram();
        final long[] values = new SplittableRandom(2).longs(10_000, 0, 5_000_000).toArray();
        for (final long value : values) {
            histogram.record(value);
        }
        Arrays.sort(values);

        final LatencyStats stats = histogram.stats();

        assertEquals(10_000, stats.count());
        assertNear(values[4999], stats.p50Nanos());
        assertNear(values[9899], stats.p99Nanos());
        assertNear(values[9999], stats.maxNanos());
    }

    @Test
    void shouldBeZeroWhenNothingOrNothingSensibleWasRecorded() {
        final LatencyHistogram histogram = new LatencyHistogram();
        assertEquals(new LatencyStats(0, 0, 0, 0), histogram.stats());
        histogram.record(-5);
        assertEquals(new LatencyStats(1, 0, 0, 0), histogram.stats());
        histogram.record(Long.MAX_VALUE);
        assertEquals(Long.MAX_VALUE, histogram.stats().maxNanos());
    }

    private static void assertNear(final long truth, final long figure) {
        assertTrue(figure >= truth && figure - truth <= truth / 4 + 1, figure + " for " + truth);
    }
}
