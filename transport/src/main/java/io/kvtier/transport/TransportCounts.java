package io.kvtier.transport;

import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/** What an engine has asked of one transport. <b>Threading:</b> thread-safe. */
final class TransportCounts {
    private final LongAdder transfers = new LongAdder();
    private final LongAdder readBytes = new LongAdder();
    private final LongAdder writtenBytes = new LongAdder();

    /** Counts the slices of one request. */
    void add(final List<Slice> slices) {
        transfers.increment();
        for (final Slice slice : slices) {
            (slice.direction() == Direction.READ ? readBytes : writtenBytes).add(slice.length());
        }
    }

    TransportStats stats(final TransportKind kind) {
        return new TransportStats(kind, transfers.sum(), readBytes.sum(), writtenBytes.sum());
    }
}
