package io.kvtier.store.master.state;

/**
 * What the master is told once. All times are milliseconds.
 *
 * @param eviction      when memory and block devices are evicted from.
 * @param leaseMs       how long a value that was read stays.
 * @param remoteReaders whether descriptors leave the process: then freed room rests until no lease can be left on it.
 * @param diskRetryMs   how long a disk that failed is sent nothing.
 * @param liveness      what becomes of clients and writes that are not heard of any more.
 * @param pins          how long soft pins last.
 * @param tasks         limits of copies and moves.
 * @param strictTenants whether a tenant needs a quota before it can store anything.
 * @param strategy      where new replicas are placed.
 */
public record MasterSettings(Eviction eviction, long leaseMs, boolean remoteReaders, long diskRetryMs,
                             Liveness liveness, Pins pins, Tasks tasks, boolean strictTenants, Strategy strategy) {
    /** Where replicas are placed that name no segment. */
    public enum Strategy {
        /** Anywhere. */
        RANDOM,
        /** Where the largest share is free, among a few that are looked at. */
        FREE_RATIO_FIRST,
        /**
         * Where its owner's disk has the largest share free, among a few that are looked at, so that what is evicted
         * has somewhere to go; memory decides where these are equal. An owner without a disk comes last.
         */
        SSD_FREE_RATIO_FIRST,
        /** On the writer's host, then on the one whose name comes next, and so on round. */
        LOCAL_FIRST
    }

    /**
     * When room is made. Ratios are from 0 to 1.
     *
     * @param highWatermark share of memory above which values are evicted.
     * @param ratio         share that an eviction frees below the watermark.
     * @param nofHighWatermark as {@code highWatermark}, of block devices.
     * @param nofRatio      as {@code ratio}, of block devices.
     * @param softPinned    whether soft-pinned values may be evicted when nothing else is left.
     */
    public record Eviction(double highWatermark, double ratio, double nofHighWatermark, double nofRatio,
                           boolean softPinned) {
    }

    /**
     * How long the master waits for those it does not hear of.
     *
     * @param clientTtlMs a client without a ping for this long is taken for dead.
     * @param discardMs   a write not ended for this long may be replaced by another one.
     * @param releaseMs   a write, copy, promotion or offload not ended for this long is given up and its room freed;
     *                    more than {@code discardMs}, and longer than any client goes on writing.
     * @param nofFailures failed probes in a row after which a block device is unmounted.
     */
    public record Liveness(long clientTtlMs, long discardMs, long releaseMs, int nofFailures) {
        /** Nobody is ever given up: for a master that lives and dies with its only client. */
        public static final Liveness FOREVER =
            new Liveness(Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE, Integer.MAX_VALUE);

        /** When nothing that was begun at a time can be under way any more. */
        long overMs(final long startMs) {
            return releaseMs > Long.MAX_VALUE - startMs ? Long.MAX_VALUE : startMs + releaseMs;
        }
    }

    /**
     * How long soft pins last.
     *
     * @param defaultMs when a put does not say.
     * @param maxMs     at most.
     */
    public record Pins(long defaultMs, long maxMs) {
        /** Half an hour, a day at most. */
        public static final Pins DEFAULT = new Pins(1_800_000, 86_400_000);
    }

    /**
     * Limits of copy and move tasks.
     *
     * @param pending      most that wait.
     * @param processing   most that are under way.
     * @param finished     most that are remembered.
     * @param pendingMs    how long one waits before it has failed; 0 for ever.
     * @param processingMs how long one is under way before it has failed; 0 for ever.
     * @param tries        how often a drain tries to move one replica, the first time included; 1 or more.
     */
    public record Tasks(int pending, int processing, int finished, long pendingMs, long processingMs, int tries) {
        /** Ten thousand of each kind, five minutes, ten tries after the first. */
        public static final Tasks DEFAULT = new Tasks(10_000, 10_000, 10_000, 300_000, 300_000, 11);
    }

    /**
     * For a master in the process of its only client.
     *
     * @param highWatermark share of memory above which values are evicted.
     * @param ratio         share that an eviction frees below the watermark.
     * @param leaseMs       how long a value that was read stays.
     * @param diskRetryMs   how long a disk that failed is sent nothing.
     * @return settings under which time alone ends nothing but leases and pins.
     */
    public static MasterSettings embedded(final double highWatermark, final double ratio, final long leaseMs,
        final long diskRetryMs) {
        return new MasterSettings(new Eviction(highWatermark, ratio, highWatermark, ratio, true), leaseMs, false,
            diskRetryMs, Liveness.FOREVER, Pins.DEFAULT, Tasks.DEFAULT, false, Strategy.RANDOM);
    }
}
