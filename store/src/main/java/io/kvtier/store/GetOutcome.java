package io.kvtier.store;

import io.kvtier.store.replica.ReplicaType;

/**
 * What became of a get.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param hit       whether the bytes are in the caller's memory.
 * @param valueSize size of the whole value in bytes; 0 for a miss.
 * @param tier      the kind of replica that was read; null for a miss.
 */
public record GetOutcome(boolean hit, long valueSize, ReplicaType tier) {
    /**
     * There is no such object, it is still being written, or none of its replicas can be read; the caller's memory may
     * have been written to.
     */
    public static final GetOutcome MISS = new GetOutcome(false, 0, null);
}
