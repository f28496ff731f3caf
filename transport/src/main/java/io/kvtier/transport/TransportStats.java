package io.kvtier.transport;

import java.util.Map;

/**
 * What a transport has done for an engine.
 *
 * @param kind         the transport.
 * @param operations   slices that it was given.
 * @param readBytes    bytes that it has read.
 * @param writtenBytes bytes that it has written.
 * @param inFlight     slices that it has now.
 * @param failures     slices that failed, by kind; kinds that did not occur are left out.
 * @param fallbacks    slices that failed here and were handed on to another transport.
 * @param latency      how long slices took, failed ones included.
 */
public record TransportStats(TransportKind kind, long operations, long readBytes, long writtenBytes, long inFlight,
                             Map<TransferFailure.Kind, Long> failures, long fallbacks, LatencyStats latency) {
    /**
     * Copies.
     *
     * @param kind         the transport.
     * @param operations   slices.
     * @param readBytes    bytes read.
     * @param writtenBytes bytes written.
     * @param inFlight     slices now.
     * @param failures     by kind.
     * @param fallbacks    slices handed on.
     * @param latency      how long slices took.
     */
    public TransportStats {
        failures = Map.copyOf(failures);
    }
}
