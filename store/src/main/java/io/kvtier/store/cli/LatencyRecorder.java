package io.kvtier.store.cli;

import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/**
 * Collects the time that calls take, with three significant digits from 1 ns to an hour.
 *
 * <p><b>Threading:</b> one thread; each thread has its own, and they are added up in the end, so that measuring makes
 * no thread wait for another.
 */
final class LatencyRecorder {
    private static final long MAX_NS = TimeUnit.HOURS.toNanos(1);
    private static final int DIGITS = 3;
    private static final double P50 = 50;
    private static final double P90 = 90;
    private static final double P99 = 99;
    private static final double P999 = 99.9;

    private final Histogram histogram = new Histogram(MAX_NS, DIGITS);
    private long totalNs;

    /**
     * Takes the time of one call.
     *
     * @param startNs when it started, by {@link System#nanoTime()}; it ends now.
     */
    void since(final long startNs) {
        record(System.nanoTime() - startNs);
    }

    /**
     * Takes the time of one call.
     *
     * @param ns nanoseconds; more than an hour counts as an hour.
     */
    void record(final long ns) {
        totalNs += ns;
        histogram.recordValue(Math.clamp(ns, 0, MAX_NS));
    }

    /**
     * Adds what another has collected.
     *
     * @param other whose owner has stopped.
     */
    void add(final LatencyRecorder other) {
        histogram.add(other.histogram);
        totalNs += other.totalNs;
    }

    /**
     * Time spent in all calls together.
     *
     * @return nanoseconds.
     */
    long totalNs() {
        return totalNs;
    }

    /**
     * What was collected.
     *
     * @return a summary.
     */
    Latency summary() {
        return new Latency(histogram.getTotalCount(), histogram.getValueAtPercentile(P50),
            histogram.getValueAtPercentile(P90), histogram.getValueAtPercentile(P99),
            histogram.getValueAtPercentile(P999), histogram.getMaxValue());
    }
}
