package io.kvtier.store;

/**
 * What a store holds and has done since it was opened. Taken while calls go on: numbers that belong together may be a
 * few calls apart.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param objects          objects with at least one replica, those being written included.
 * @param memory           the memory tier.
 * @param disk             the disk tier; all zero without one.
 * @param misses           gets that found nothing.
 * @param offloads         values copied from memory to disk.
 * @param offloadFailures  values that could not be copied to disk.
 * @param promotions       values copied from disk to memory.
 * @param unreadable       disk replicas dropped because their bytes could not be read, or were not those written.
 * @param putWaits         puts that had to wait for an offload.
 * @param lateReads        reads whose bytes counted for nothing, since the lease was over when they were there; each
 *                         was tried again. Many of them want a longer lease.
 */
public record StoreStats(long objects, TierStats memory, TierStats disk, long misses, long offloads,
                         long offloadFailures, long promotions, TierFaults unreadable, long putWaits, long lateReads) {
    /**
     * One tier.
     *
     * @param capacityBytes  bytes it can hold.
     * @param usedBytes      bytes allocated in it now, rounding to its unit included.
     * @param hits           gets answered from it.
     * @param readBytes      value bytes read from it.
     * @param writtenBytes   value bytes written to it.
     * @param evictions      values dropped from it to make room.
     */
    public record TierStats(long capacityBytes, long usedBytes, long hits, long readBytes, long writtenBytes,
                            long evictions) {
    }

    /**
     * Replicas that were dropped as unreadable.
     *
     * @param ioErrors          the device failed.
     * @param checksumMismatches the bytes were not those that were written.
     */
    public record TierFaults(long ioErrors, long checksumMismatches) {
    }
}
