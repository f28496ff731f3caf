package io.kvtier.transport;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * What an engine has asked of one transport, and how it went. Each slice that has ended is one record of the latency,
 * made last, so that what has ended needs no count of its own.
 *
 * <p><b>Threading:</b> thread-safe; counting never waits.
 */
final class TransportCounts {
    private final LongAdder started = new LongAdder();
    private final LongAdder readBytes = new LongAdder();
    private final LongAdder writtenBytes = new LongAdder();
    private final LongAdder fallbacks = new LongAdder();
    private final Map<TransferFailure.Kind, AtomicLong> failures = new EnumMap<>(TransferFailure.Kind.class);
    private final LatencyHistogram latency = new LatencyHistogram();

    TransportCounts() {
        for (final TransferFailure.Kind kind : TransferFailure.Kind.values()) {
            failures.put(kind, new AtomicLong());
        }
    }

    void started() {
        started.increment();
    }

    void ended(final Slice slice, final TransferFailure problem) {
        if (problem == null) {
            (slice.direction() == Direction.READ ? readBytes : writtenBytes).add(slice.length());
        } else {
            failures.get(problem.kind()).getAndIncrement();
        }
        latency.record(System.nanoTime() - slice.startedNanos());
    }

    void fellBack() {
        fallbacks.increment();
    }

    TransportStats stats(final TransportKind kind) {
        final Map<TransferFailure.Kind, Long> failed = new EnumMap<>(TransferFailure.Kind.class);
        failures.forEach((failure, count) -> {
            if (count.get() > 0) {
                failed.put(failure, count.get());
            }
        });
        // Ended first: a slice that ends between the two readings must not make the difference negative.
        final LatencyStats ended = latency.stats();
        final long operations = started.sum();
        return new TransportStats(kind, operations, readBytes.sum(), writtenBytes.sum(), operations - ended.count(),
            failed, fallbacks.sum(), ended);
    }
}
