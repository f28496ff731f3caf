package io.kvtier.store.snapshot;

/**
 * What has become of a master's snapshots since it was started.
 *
 * @param taken        those that are durable.
 * @param failed       those that are not.
 * @param lastId       the last durable one; empty for none.
 * @param lastAtMs     wall clock at the moment that it is of; 0 for none.
 * @param lastMs       milliseconds that it took.
 * @param lastBytes    its length.
 * @param lastObjects  objects in it.
 * @param longestNanos the longest time that one slice of it kept everybody else from the state.
 */
public record SnapshotCounts(long taken, long failed, String lastId, long lastAtMs, long lastMs, long lastBytes,
                             long lastObjects, long longestNanos) {
    /** Nothing yet. */
    public static final SnapshotCounts NONE = new SnapshotCounts(0, 0, "", 0, 0, 0, 0, 0);

    /**
     * After another one that is not durable.
     *
     * @return the counts.
     */
    public SnapshotCounts failedOnce() {
        return new SnapshotCounts(taken, failed + 1, lastId, lastAtMs, lastMs, lastBytes, lastObjects, longestNanos);
    }
}
