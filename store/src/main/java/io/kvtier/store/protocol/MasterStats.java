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
 * @param diskUsed          bytes of values on all clients' disks.
 * @param gets              reads that were asked for, and where their values were.
 * @param memoryRuns        evictions from memory.
 * @param nofRuns           evictions from block devices.
 * @param allocations       how puts found room.
 * @param promoted          how promotions ended.
 * @param probes            what probes of block devices found.
 * @param gds               of clients' own files for GDS replicas.
 * @param pages             of the files that all clients mount.
 */
public record MasterStats(long objects, long memoryCapacity, long memoryUsed, long memoryReplicas, long heldReplicas,
                          long memoryEvictions, long evictionsWithoutCopy, long diskReplicas, long diskEvictions,
                          long offloads, long offloadFailures, long offloadsPending, long promotions,
                          long nofCapacity, long nofUsed, long nofEvictions, long diskCapacity, long clients,
                          long pendingWrites, long discardedWrites, long releasedWrites, long activePromotions,
                          long softPinned, long groups, long diskUsed, Gets gets,
                          EvictionRuns memoryRuns, EvictionRuns nofRuns, Allocations allocations,
                          Promoted promoted, Probes probes, GdsTotals gds, PageTotals pages) {
    /**
     * Reads that were asked for. One that was found counts where its nearest replica was: in memory, else on a block
     * device, else in a client's own file, else in the files that all clients mount, else on a client's disk.
     *
     * @param total       all of them.
     * @param memoryHits  found in memory.
     * @param memoryBytes bytes of these values.
     * @param nofHits     found on block devices.
     * @param nofBytes    bytes of these values.
     * @param diskHits    found on clients' disks.
     * @param diskBytes   bytes of these values.
     * @param gdsHits     found in clients' own files.
     * @param gdsBytes    bytes of these values.
     * @param pageHits    found in the files that all clients mount.
     * @param pageBytes   bytes of these values.
     */
    public record Gets(long total, long memoryHits, long memoryBytes, long nofHits, long nofBytes, long diskHits,
                       long diskBytes, long gdsHits, long gdsBytes, long pageHits, long pageBytes) {
        /** Nothing counted. */
        public static final Gets NONE = new Gets(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

        /**
         * Reads that were found.
         *
         * @return their number.
         */
        public long valid() {
            return memoryHits + nofHits + gdsHits + pageHits + diskHits;
        }
    }

    /**
     * Evictions from one medium: each time that room is to be made for a value or in a quota, or an operator asks.
     *
     * @param attempts  all of them.
     * @param successes those that dropped a replica, or sent a value to a disk so that its replica can be dropped.
     * @param bytes     bytes allocated to replicas that were dropped to make room.
     */
    public record EvictionRuns(long attempts, long successes, long bytes) {
        /** Nothing counted. */
        public static final EvictionRuns NONE = new EvictionRuns(0, 0, 0);
    }

    /**
     * How puts found room. A put that waits for room and is tried again counts each time.
     *
     * @param failures puts for which there was no room.
     * @param partial  puts that got fewer replicas than they wanted.
     * @param stale    bytes of values now that puts hold room for which another one took the place of, and whose
     *                 writers may still be at it.
     */
    public record Allocations(long failures, long partial, long stale) {
        /** Nothing counted. */
        public static final Allocations NONE = new Allocations(0, 0, 0);
    }

    /**
     * How promotions ended, beside those that ended well: together with these, and with those under way, they are as
     * many as were admitted.
     *
     * @param admitted       promotions that got room.
     * @param completedBytes bytes of the values that were promoted.
     * @param failed         promotions that their clients could not do.
     * @param cancelled      promotions whose objects, clients or segments went.
     * @param expired        promotions given up because they did not end in time.
     * @param rejected       those that were not admitted.
     */
    public record Promoted(long admitted, long completedBytes, long failed, long cancelled, long expired,
                           Rejected rejected) {
        /** Nothing counted. */
        public static final Promoted NONE = new Promoted(0, 0, 0, 0, 0, Rejected.NONE);
    }

    /**
     * Promotions that were asked for and not admitted.
     *
     * @param room  there was no room in memory.
     * @param quota the tenant's quota was used up.
     * @param busy  the object had gone, or it was in memory, written or copied already.
     */
    public record Rejected(long room, long quota, long busy) {
        /** Nothing counted. */
        public static final Rejected NONE = new Rejected(0, 0, 0);
    }

    /**
     * What clients found when they probed block devices.
     *
     * @param successes probes that were answered.
     * @param failures  probes that were not, or not well.
     * @param unmounted block devices taken out of use because too many probes in a row had failed.
     * @param timeouts  those of the failures that were not answered in time.
     */
    public record Probes(long successes, long failures, long unmounted, long timeouts) {
        /** Nothing counted. */
        public static final Probes NONE = new Probes(0, 0, 0, 0);
    }

    /**
     * Of clients' own files for GDS replicas.
     *
     * @param storages files that are registered.
     * @param capacity bytes of all of them.
     * @param used     bytes in them that the master knows to be in use.
     * @param replicas replicas in them, those being written included.
     * @param counts   what has happened to them and to those that were registered before, as the master sees it.
     * @param told     what the owners of all of these have told.
     */
    public record GdsTotals(long storages, long capacity, long used, long replicas, GdsCommand.GdsCounts counts,
                            GdsTold told) {
        /** Nothing counted. */
        public static final GdsTotals NONE =
            new GdsTotals(0, 0, 0, 0, GdsCommand.GdsCounts.NONE, GdsTold.NONE);
    }

    /**
     * What the owners of files for GDS replicas have told.
     *
     * @param work      what was done with the files that are registered and those that were before.
     * @param values    values that can be read, in those that are registered.
     * @param uncertain extents of these of which the owners do not know whether the master has them, or whether a
     *                  device still uses them.
     * @param detours   how many of these have all bytes of GPUs go through memory of the host.
     */
    public record GdsTold(GdsCommand.GdsWork work, long values, long uncertain, long detours) {
        /** Nothing. */
        public static final GdsTold NONE = new GdsTold(GdsCommand.GdsWork.NONE, 0, 0, 0);
    }

    /**
     * Of the files that all clients mount.
     *
     * @param capacity     bytes of all of them.
     * @param used         bytes of pages that are in use: by replicas, by writers, or resting.
     * @param replicas     replicas in them, those being written or resting included.
     * @param writing      allocations that nobody has spoken of yet.
     * @param allocations  runs of pages that were given out.
     * @param frees        runs that came back.
     * @param failures     values for which no run was long enough.
     * @param evictions    replicas dropped to make room.
     * @param evictedBytes bytes of their pages.
     * @param reaped       allocations whose clients went, or did not speak of them in time.
     * @param stale        values that were stored and not wanted any more, or were wrong.
     * @param hot          values that are to be copied to memory since they are read often.
     */
    public record PageTotals(long capacity, long used, long replicas, long writing, long allocations, long frees,
                             long failures, long evictions, long evictedBytes, long reaped, long stale, Hot hot) {
        /** Nothing counted. */
        public static final PageTotals NONE = new PageTotals(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, Hot.NONE);
    }

    /**
     * Values that are to be copied from the files that all clients mount to memory, since they are read often.
     *
     * @param waiting  those that wait, or were given to a client that has not begun.
     * @param queued   values that were queued.
     * @param rejected values that could not be, since there were too many or memory is full.
     */
    public record Hot(long waiting, long queued, long rejected) {
        /** Nothing counted. */
        public static final Hot NONE = new Hot(0, 0, 0);
    }
}
