package io.kvtier.store.protocol;

/**
 * Counters of the master.
 *
 * @param objects           objects, those being written included.
 * @param memoryCapacity    bytes of all segments.
 * @param memoryUsed        bytes allocated in them.
 * @param memoryReplicas    memory replicas, removed ones that are still held included.
 * @param heldReplicas      memory replicas that a reader, a writer or an offload holds.
 * @param memoryEvictions   memory replicas dropped to make room.
 * @param evictionsWithoutCopy those of them that were the last replica of their object.
 * @param diskReplicas      disk replicas.
 * @param diskEvictions     disk replicas dropped to make room.
 * @param offloads          offload tasks that ended well.
 * @param offloadFailures   offload tasks that did not.
 * @param offloadsPending   offload tasks queued or under way.
 * @param promotions        promotions that ended well.
 */
public record MasterStats(long objects, long memoryCapacity, long memoryUsed, long memoryReplicas, long heldReplicas,
                          long memoryEvictions, long evictionsWithoutCopy, long diskReplicas, long diskEvictions,
                          long offloads, long offloadFailures, long offloadsPending, long promotions) {
}
