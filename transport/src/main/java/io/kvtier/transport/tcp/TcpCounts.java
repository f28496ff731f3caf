package io.kvtier.transport.tcp;

import java.util.concurrent.atomic.LongAdder;

/** Counts for {@link TcpStats}. <b>Threading:</b> thread-safe. */
final class TcpCounts {
    final LongAdder connections = new LongAdder();
    final LongAdder failedConnects = new LongAdder();
    final LongAdder lostConnections = new LongAdder();
    final LongAdder timeouts = new LongAdder();
    final LongAdder retriedRequests = new LongAdder();
    final LongAdder refusedRequests = new LongAdder();
    final LongAdder ledRequests = new LongAdder();

    TcpStats stats() {
        return new TcpStats(connections.sum(), failedConnects.sum(), lostConnections.sum(), timeouts.sum(),
            retriedRequests.sum(), refusedRequests.sum(), ledRequests.sum());
    }
}
