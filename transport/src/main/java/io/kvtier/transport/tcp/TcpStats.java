package io.kvtier.transport.tcp;

/**
 * What a client's connections have been through. What became of slices is in the engine's own statistics.
 *
 * @param connections     connections that were established, handshake included.
 * @param failedConnects  attempts that failed.
 * @param lostConnections connections that were lost or ended because of a fault, a time-out or a cancelled write.
 * @param timeouts        connections among these that were ended because the server did not answer in time.
 * @param retriedRequests requests that were sent again because their connection was lost.
 * @param refusedRequests requests that the server refused.
 * @param ledRequests     slices that a thread which waits for them began to move itself.
 */
public record TcpStats(long connections, long failedConnects, long lostConnections, long timeouts,
                       long retriedRequests, long refusedRequests, long ledRequests) {
}
