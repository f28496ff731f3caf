package io.kvtier.store.master.state;

/**
 * What the master is told once.
 *
 * @param highWatermark   share of a segment's bytes above which values are evicted.
 * @param evictionRatio   share that an eviction frees below the watermark.
 * @param leaseMs         milliseconds for which a value that was read stays.
 * @param diskRetryMs     milliseconds for which a disk that failed is sent nothing.
 */
public record MasterSettings(double highWatermark, double evictionRatio, long leaseMs, long diskRetryMs) {
}
