package io.kvtier.store;

import java.util.List;

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
 * @param putWaits         puts that had to wait for room.
 * @param lateReads        reads whose bytes counted for nothing, since the lease was over when they were there; each
 *                         was tried again. Many of them want a longer lease.
 * @param gds              this store's own file for GDS replicas; all zero without one.
 * @param sharedDisk       what this store did with files that all hosts mount; all zero without any.
 * @param lostTransfers    transfers of this store's disk and file of which nothing was heard any more, and which
 *                         may still move bytes: their memory and their places stay in use until the process
 *                         ends. More than 0 wants a look at cufile.log, and a restart when that can be done.
 */
public record StoreStats(long objects, TierStats memory, TierStats disk, long misses, long offloads,
                         long offloadFailures, long promotions, TierFaults unreadable, long putWaits, long lateReads,
                         GdsStats gds, SharedDiskStats sharedDisk, long lostTransfers) {
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

    /**
     * A store's own file for GDS replicas.
     *
     * @param tier       what it holds, and what was moved; written are values of both kinds of puts. Evictions are
     *                   those of all stores that the master knows.
     * @param values     values in it that can be read.
     * @param puts       values written there beside memory.
     * @param onlyPuts   values written there alone, since there was no memory for them.
     * @param unsettled  extents of which this store does not know whether the master has them; it asks until it does.
     *                   And those that a device may still use, of whose transfer nothing was heard: they stay taken
     *                   until the process ends.
     * @param way        what moves the bytes, and in which mode, in words: whether GPUDirect Storage goes by way of the
     *                   processor's memory, for one.
     * @param faults     what did not go well.
     */
    public record GdsStats(TierStats tier, long values, long puts, long onlyPuts, long unsettled, String way,
                           GdsFaults faults) {
        /** Nothing. */
        public static final GdsStats NONE = new GdsStats(new TierStats(0, 0, 0, 0, 0, 0), 0, 0, 0, 0, "",
            new GdsFaults(0, 0, 0, 0, 0));
    }

    /**
     * What did not go well with a file for GDS replicas.
     *
     * @param noRoom        puts that found no room in it, in time, and went to memory alone or nowhere.
     * @param refused       puts whose room the master refused, or did not answer about.
     * @param writeFailures writes that failed; the puts failed with them.
     * @param readFailures  reads that failed; another replica was read, if there was one.
     * @param stale         reads of what was not there any more.
     */
    public record GdsFaults(long noRoom, long refused, long writeFailures, long readFailures, long stale) {
    }

    /**
     * What a store did with files that all hosts mount.
     *
     * @param reads  what it read.
     * @param writes what it wrote.
     */
    public record SharedDiskStats(SharedReads reads, SharedWrites writes) {
        /** Nothing. */
        public static final SharedDiskStats NONE = new SharedDiskStats(
            new SharedReads(0, 0, 0, 0, 0, new Times(List.of(), List.of(0L), 0)), new SharedWrites(0, 0, 0, 0, 0));
    }

    /**
     * Reads of values, or of parts of them, from files that all hosts mount.
     *
     * @param reads     those that ended well ({@code mooncake_client_distributed_disk_reads_total}).
     * @param readBytes bytes of these.
     * @param failures  those that did not; another replica was read, if there was one.
     * @param replaced  how often the path of a file was found to lead to another one.
     * @param openFiles files that are open now.
     * @param times     how long those took that ended well
     *                  ({@code mooncake_client_distributed_disk_read_latency_seconds}), until their bytes were taken.
     */
    public record SharedReads(long reads, long readBytes, long failures, long replaced, int openFiles, Times times) {
    }

    /**
     * Values written to files that all hosts mount.
     *
     * @param values         those that are durable and that the master has taken.
     * @param pages          pages that they take ({@code mooncake_dsb_batch_offload_pages_written}).
     * @param bytes          bytes of these values.
     * @param failures       values that could not be written.
     * @param leaksPrevented values whose pages were given back to the master, since they could not be written
     *                       ({@code mooncake_dsb_batch_offload_page_leaks_prevented}).
     */
    public record SharedWrites(long values, long pages, long bytes, long failures, long leaksPrevented) {
    }

    /**
     * Durations, counted by size.
     *
     * @param bounds  upper bounds in seconds, rising.
     * @param counts  one a bound, of what took no longer than that and longer than the bound before; then one of what
     *                took longer than the last.
     * @param seconds sum of all.
     */
    public record Times(List<Double> bounds, List<Long> counts, double seconds) {
        /**
         * Copies.
         *
         * @param bounds  upper bounds.
         * @param counts  counts.
         * @param seconds sum.
         */
        public Times {
            bounds = List.copyOf(bounds);
            counts = List.copyOf(counts);
        }
    }
}
