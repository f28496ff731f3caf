package io.kvtier.transport;

/**
 * How long slices took, from the hand-over to the transport to their end. The figures are upper bounds, at most a
 * quarter above the true ones.
 *
 * @param count    slices.
 * @param p50Nanos half of them took no longer; nanoseconds, 0 when there were none.
 * @param p99Nanos 99 of 100 took no longer.
 * @param maxNanos none took longer.
 */
public record LatencyStats(long count, long p50Nanos, long p99Nanos, long maxNanos) {
}
