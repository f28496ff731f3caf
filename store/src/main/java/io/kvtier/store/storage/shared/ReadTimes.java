package io.kvtier.store.storage.shared;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;

/**
 * How long reads took, counted by size. <b>Threading:</b> thread-safe; counting never waits and makes no garbage.
 */
final class ReadTimes {
    /** Upper bounds in seconds: from a block out of a cache to a value out of a file system that is busy. */
    static final List<Double> BOUNDS = List.of(50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3,
        0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0);
    private static final long[] BOUNDS_NS = BOUNDS.stream()
        .mapToLong(bound -> Math.round(bound * TimeUnit.SECONDS.toNanos(1))).toArray();

    private final LongAdder nanos = new LongAdder();
    private final LongAdder[] counts =
        Stream.generate(LongAdder::new).limit(BOUNDS_NS.length + 1L).toArray(LongAdder[]::new);

    void record(final long time) {
        int bucket = 0;
        while (bucket < BOUNDS_NS.length && time > BOUNDS_NS[bucket]) {
            bucket++;
        }
        counts[bucket].increment();
        nanos.add(time);
    }

    /** One count a bound, and one more for what took longer than the last. */
    List<Long> counts() {
        final List<Long> all = new ArrayList<>(counts.length);
        for (final LongAdder count : counts) {
            all.add(count.sum());
        }
        return all;
    }

    double seconds() {
        return nanos.sum() / (double) TimeUnit.SECONDS.toNanos(1);
    }
}
