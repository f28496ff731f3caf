package io.kvtier.store.cli;

/**
 * How long calls took.
 *
 * @param count  number of calls.
 * @param p50Ns  nanoseconds that half of them took at most.
 * @param p90Ns  nanoseconds that 90 % of them took at most.
 * @param p99Ns  nanoseconds that 99 % of them took at most.
 * @param p999Ns nanoseconds that 99.9 % of them took at most.
 * @param maxNs  nanoseconds of the slowest.
 */
record Latency(long count, long p50Ns, long p90Ns, long p99Ns, long p999Ns, long maxNs) {
}
