package io.kvtier.store.metrics;

import io.kvtier.store.BatchResult;
import io.kvtier.store.metrics.Families.Distribution;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/**
 * Counts requests, by kind: how many, how many were refused, how long they took, and of batches how many commands they
 * held.
 *
 * <p><b>Threading:</b> thread-safe; counting never waits and makes no garbage.
 */
public final class RequestMetrics {
    /** Upper bounds of latencies in seconds: what a master on the same host answers in, up to a call that waits. */
    private static final double[] BOUNDS = {10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3,
        25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
    private static final long[] BOUNDS_NS = boundsNs();
    private static final double[] UPPER_BOUNDS =
        DoubleStream.concat(DoubleStream.of(BOUNDS), DoubleStream.of(Double.POSITIVE_INFINITY)).toArray();
    /** Kinds that clients send in batches. */
    private static final Set<RequestKind> BATCHED = EnumSet.of(RequestKind.EXIST_KEY, RequestKind.GET_REPLICA_LIST,
        RequestKind.PUT_START, RequestKind.UPSERT_START, RequestKind.PUT_END, RequestKind.PUT_REVOKE,
        RequestKind.REMOVE);

    private final Counts[] singles = counts();
    private final Counts[] batches = counts();

    /** Of one kind. */
    private static final class Counts {
        private final LongAdder requests = new LongAdder();
        private final LongAdder failures = new LongAdder();
        private final LongAdder items = new LongAdder();
        private final LongAdder failedItems = new LongAdder();
        private final LongAdder partial = new LongAdder();
        private final LongAdder nanos = new LongAdder();
        private final LongAdder[] buckets =
            Stream.generate(LongAdder::new).limit(BOUNDS.length + 1L).toArray(LongAdder[]::new);
    }

    /** All counters at zero. */
    public RequestMetrics() {
        // They are there already.
    }

    private static Counts[] counts() {
        return Stream.generate(Counts::new).limit(RequestKind.values().length).toArray(Counts[]::new);
    }

    private static long[] boundsNs() {
        final long[] bounds = new long[BOUNDS.length];
        for (int i = 0; i < bounds.length; i++) {
            bounds[i] = Math.round(BOUNDS[i] * TimeUnit.SECONDS.toNanos(1));
        }
        return bounds;
    }

    /**
     * Counts a request that was answered. A miss or a full store is an answer; a command of a batch that was refused
     * counts as a failed item, and a batch of which none was carried out as a failure.
     *
     * @param command what was asked.
     * @param reply   the answer.
     * @param nanos   nanoseconds from when the request came to when it was answered.
     */
    public void answered(final Command<?> command, final Object reply, final long nanos) {
        final int kind = RequestKind.of(command).ordinal();
        if (!(command instanceof Batch<?> batch)) {
            count(singles[kind], nanos, false);
            return;
        }
        final Counts counts = batches[kind];
        final int items = batch.items().size();
        final int failed = failedItems(reply);
        counts.items.add(items);
        counts.failedItems.add(failed);
        if (failed > 0 && failed < items) {
            counts.partial.increment();
        }
        count(counts, nanos, failed > 0 && failed == items);
    }

    private static int failedItems(final Object reply) {
        int failed = 0;
        if (reply instanceof List<?> results) {
            for (int i = 0; i < results.size(); i++) {
                if (results.get(i) instanceof BatchResult<?> result && result.failure() != null) {
                    failed++;
                }
            }
        }
        return failed;
    }

    /**
     * Counts a request that was refused or that failed.
     *
     * @param command what was asked.
     * @param nanos   nanoseconds from when the request came to when it was answered.
     */
    public void refused(final Command<?> command, final long nanos) {
        final int kind = RequestKind.of(command).ordinal();
        if (command instanceof Batch<?> batch) {
            batches[kind].items.add(batch.items().size());
            batches[kind].failedItems.add(batch.items().size());
            count(batches[kind], nanos, true);
        } else {
            count(singles[kind], nanos, true);
        }
    }

    private static void count(final Counts counts, final long nanos, final boolean failed) {
        counts.requests.increment();
        if (failed) {
            counts.failures.increment();
        }
        counts.nanos.add(nanos);
        int bucket = 0;
        while (bucket < BOUNDS_NS.length && nanos > BOUNDS_NS[bucket]) {
            bucket++;
        }
        counts.buckets[bucket].increment();
    }

    /** Requests of all kinds, batches being one each. */
    long total() {
        return Stream.concat(Stream.of(singles), Stream.of(batches)).mapToLong(counts -> counts.requests.sum()).sum();
    }

    /** Requests of all kinds that failed. */
    long failures() {
        return Stream.concat(Stream.of(singles), Stream.of(batches)).mapToLong(counts -> counts.failures.sum()).sum();
    }

    /** Gives all counters, those of kinds that never came as zero, so that rates begin at the beginning. */
    void collect(final Families families) {
        final Map<String, Distribution> latencies = new TreeMap<>();
        for (final RequestKind kind : EnumSet.complementOf(EnumSet.of(RequestKind.TICK))) {
            final String word = kind.word();
            collectCounts(families, word, word.replace('_', ' '), singles[kind.ordinal()]);
            final Counts batch = batches[kind.ordinal()];
            if (BATCHED.contains(kind) || batch.requests.sum() > 0) {
                final String what = "batches of " + word.replace('_', ' ');
                collectCounts(families, "batch_" + word, what, batch);
                collectItems(families, "master_batch_" + word, what, batch);
            }
            addLatency(latencies, word, singles[kind.ordinal()]);
            addLatency(latencies, "batch_" + word, batch);
        }
        families.histograms("kvtier_master_request_seconds", "Time from when a request came to when it was answered.",
            "method", latencies);
    }

    private static void collectCounts(final Families families, final String word, final String what,
        final Counts counts) {
        families.counter("master_" + word + "_requests_total", counts.requests.sum(), "Requests: " + what + '.');
        families.counter("master_" + word + "_failures_total", counts.failures.sum(),
            "Requests that were refused or failed: " + what + '.');
    }

    private static void collectItems(final Families families, final String name, final String what,
        final Counts counts) {
        families.counter(name + "_items_total", counts.items.sum(), "Items of " + what + '.');
        families.counter(name + "_failed_items_total", counts.failedItems.sum(), "Failed items of " + what + '.');
        families.counter(name + "_partial_successes_total", counts.partial.sum(),
            "Some items failed and some did not: " + what + '.');
    }

    private static void addLatency(final Map<String, Distribution> latencies, final String word,
        final Counts counts) {
        if (counts.requests.sum() > 0) {
            latencies.put(word, new Distribution(UPPER_BOUNDS, Stream.of(counts.buckets).mapToLong(LongAdder::sum)
                .toArray(), counts.nanos.sum() / (double) TimeUnit.SECONDS.toNanos(1)));
        }
    }
}
