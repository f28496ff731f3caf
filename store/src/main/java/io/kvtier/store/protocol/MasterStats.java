package io.kvtier.store.protocol;

/**
 * Counters of the master.
 *
 * @param objects           objects, those being written included.
 * @param memoryCapacity    bytes of all segments.
 * @param memoryUsed        bytes allocated in them.
 * @param memoryReplicas    memory replicas, removed ones that are still held included.
 * @param heldReplicas      replicas in memory or on block devices that a reader, a writer or an offload holds.
 * @param memoryEvictions   memory replicas dropped to make room.
 * @param evictionsWithoutCopy those of them that were the last replica of their object.
 * @param diskReplicas      disk replicas.
 * @param diskEvictions     disk replicas dropped to make room.
 * @param offloads          offload tasks that ended well.
 * @param offloadFailures   offload tasks that did not.
 * @param offloadsPending   offload tasks queued or under way.
 * @param promotions        promotions that ended well.
 * @param nofCapacity       bytes of all block devices.
 * @param nofUsed           bytes allocated on them.
 * @param nofEvictions      their replicas dropped to make room.
 * @param diskCapacity      bytes of all clients' disks.
 * @param clients           clients that are taken for alive.
 * @param pendingWrites     puts started and not ended, replaced ones whose writer has not ended them included.
 * @param discardedWrites   puts that another one took the place of before they had ended.
 * @param releasedWrites    puts given up because they did not end in time.
 * @param activePromotions  promotions under way.
 * @param softPinned        objects that are pinned softly.
 * @param groups            groups.
 */
public record MasterStats(long objects, long memoryCapacity, long memoryUsed, long memoryReplicas, long heldReplicas,
                          long memoryEvictions, long evictionsWithoutCopy, long diskReplicas, long diskEvictions,
                          long offloads, long offloadFailures, long offloadsPending, long promotions,
                          long nofCapacity, long nofUsed, long nofEvictions, long diskCapacity, long clients,
                          long pendingWrites, long discardedWrites, long releasedWrites, long activePromotions,
                          long softPinned, long groups) {
}
