package io.kvtier.store.protocol;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.util.List;
import java.util.UUID;

/**
 * What concerns DISTRIBUTED_DISK: pages of files that all clients mount.
 *
 * <p>The master gives out pages for a version of an object; whoever got them writes the value there, makes it durable
 * and says so, or gives them back. Pages that are not spoken of in time are reaped. Each allocation has an id of its
 * own, that of the replica to come, so that what is said late of an earlier one does no harm.
 *
 * @param <R> what the master answers.
 */
public sealed interface PageCommand<R> extends Command<R> {
    /**
     * Says that a client reads the shared files, and writes them unless it says that it does not: from here on it is
     * given promotions, and who writes offload tasks. Repeated, it changes nothing. Refused with
     * UNAVAILABLE_IN_CURRENT_MODE when the master has no page mode, with INVALID_PARAMS when its layout is another one
     * or it is at another volume than the others, and with UNAVAILABLE_IN_CURRENT_STATUS from a client that was taken
     * for dead, until it has pinged.
     *
     * @param clientId the client.
     * @param layout   its settings.
     * @param volume   which folder of which file system it has found there, by the marker beside the files; null when
     *                 it has not looked, or there is no marker yet. It says so again when it knows.
     * @param readOnly whether it writes nothing there.
     */
    record MountDistributedDisk(UUID clientId, PageLayout layout, UUID volume, boolean readOnly)
        implements PageCommand<DistributedDiskTerms> {
    }

    /**
     * What a client is told that may use the shared files.
     *
     * @param clusterId what the cluster is called; stands in the marker file beside them.
     * @param writeMs   milliseconds after which nothing may be written any more to pages that were allocated, counted
     *                  from before they were asked for. The master gives them to others no earlier.
     * @param volume    which folder of which file system the values lie in; null while nobody has said so. A client
     *                  that finds no marker there is elsewhere, and makes none.
     */
    record DistributedDiskTerms(String clusterId, long writeMs, UUID volume) {
    }

    /**
     * Takes a client off the shared files: its tasks end, and pages that it has not spoken of rest until nothing can be
     * written to them. What is complete stays. STALE when it had not mounted.
     *
     * @param clientId the client.
     */
    record UnmountDistributedDisk(UUID clientId) implements PageCommand<Ack> {
    }

    /**
     * Allocates a run of pages for a value. The same client is given the same run again as long as it has not spoken
     * of it: its time begins anew, and so that what it said of the run before and comes late does no harm, under
     * another id.
     *
     * @param clientId who writes it.
     * @param request  for what.
     */
    record AllocateDistributedPage(UUID clientId, PageRequest request) implements PageCommand<PageAllocation> {
    }

    /**
     * Several at once, each with its own outcome, of any tenants.
     *
     * @param clientId who writes them.
     * @param requests for what; at most {@link Batch#MAX_ITEMS}.
     */
    record BatchAllocateDistributedPage(UUID clientId, List<PageRequest> requests)
        implements PageCommand<List<PageAllocation>> {
    }

    /**
     * A value that wants pages.
     *
     * @param key      the object.
     * @param version  the object's version.
     * @param size     bytes of the value, those of the object.
     * @param sourceId the memory replica of the offload task for which it is; 0 for none.
     */
    record PageRequest(ObjectKey key, long version, long size, long sourceId) {
    }

    /** What has become of a request for pages. */
    enum PageOutcome {
        /** Here they are. */
        ALLOCATED,
        /** The value is in the shared files already; nothing is to be written. */
        STORED,
        /** Another client writes the value there just now. */
        TAKEN,
        /** There is no such version any more. */
        STALE,
        /** No run of pages is free that is long enough; counted as a failure. The value stays in memory alone. */
        NO_SPACE
    }

    /**
     * Answer to a request for pages.
     *
     * @param outcome   what has become of it.
     * @param replicaId id of the allocation; 0 unless the outcome is ALLOCATED or STORED.
     * @param place     where; null when the id is 0.
     */
    record PageAllocation(PageOutcome outcome, long replicaId, ReplicaDescriptor.DistributedDisk place) {
        /**
         * Without pages.
         *
         * @param outcome why.
         * @return the answer.
         */
        public static PageAllocation none(final PageOutcome outcome) {
            return new PageAllocation(outcome, 0, null);
        }
    }

    /**
     * Gives pages back to which nothing was written that is to be kept. STALE when they are not this client's (any
     * more), or complete.
     *
     * @param clientId who was given them.
     * @param release  which.
     */
    record FreeDistributedPage(UUID clientId, PageRelease release) implements PageCommand<Ack> {
    }

    /**
     * Several at once.
     *
     * @param clientId who was given them.
     * @param releases which; at most {@link Batch#MAX_ITEMS}.
     */
    record BatchFreeDistributedPage(UUID clientId, List<PageRelease> releases) implements PageCommand<List<Ack>> {
    }

    /**
     * Pages that are given back.
     *
     * @param key       the object.
     * @param version   the object's version.
     * @param replicaId of the allocation.
     * @param settled   whether nothing changes the bytes there any more; else they rest until the time to write is
     *                  over.
     */
    record PageRelease(ObjectKey key, long version, long replicaId, boolean settled) {
    }

    /**
     * Asks where a value lies in the shared files; counts as a use of the value, and leases it. Values whose writers
     * have not said that they are durable lie nowhere.
     *
     * @param key the object.
     */
    record GetDistributedPageMapping(ObjectKey key) implements PageCommand<PageMapping> {
    }

    /**
     * Several at once.
     *
     * @param keys the objects, of any tenants; at most {@link Batch#MAX_ITEMS}.
     */
    record BatchGetDistributedPageMapping(List<ObjectKey> keys) implements PageCommand<List<PageMapping>> {
    }

    /**
     * Where a value lies.
     *
     * @param version   of the object; 0 when it is not in the shared files.
     * @param replicaId its replica there.
     * @param place     where; null when it is nowhere.
     * @param checksum  XXH64 of the value, with which a reader compares what it read.
     * @param leaseMs   milliseconds, counted from before it was asked, in which the place is not given to another
     *                  value.
     */
    record PageMapping(long version, long replicaId, ReplicaDescriptor.DistributedDisk place, long checksum,
                       long leaseMs) {
        /** Nowhere. */
        public static final PageMapping NONE = new PageMapping(0, 0, null, 0, 0);
    }

    /**
     * Says that values are durable in the pages that were allocated for them. Ends the offload tasks that they are from
     * and makes the replicas complete. STALE for a version that was removed or replaced meanwhile, a value that is not
     * what its writer wrote, or from a task that was given up meanwhile, with the hold on its memory, and pages that
     * were reaped: those pages are free then, or will be. Repeated, it is answered as before as long as the replica is
     * there.
     *
     * @param clientId who was given the pages.
     * @param values   which; at most {@link Batch#MAX_ITEMS}.
     */
    record NotifyDistributedDiskSuccess(UUID clientId, List<StoredPages> values) implements PageCommand<List<Ack>> {
    }

    /**
     * A value that is durable.
     *
     * @param key       the object.
     * @param version   the object's version.
     * @param replicaId of the allocation.
     * @param checksum  XXH64 of the value, taken on its way there.
     */
    record StoredPages(ObjectKey key, long version, long replicaId, long checksum) {
    }

    /**
     * Fetches values that are to be copied from the shared files to memory, for any client: each is given to one. It
     * asks for memory with {@link DiskCommand.PromotionStart}, copies, and ends with {@link DiskCommand.PromotionEnd}.
     * One that is not begun in a while is given to another, since the reply that named it may be lost.
     *
     * @param clientId the client, which has mounted the shared files; another one is given nothing.
     * @param max      most tasks.
     */
    record FetchPromotions(UUID clientId, int max) implements PageCommand<List<PromotionTask>> {
    }

    /**
     * A value to copy to memory.
     *
     * @param key      the object.
     * @param version  the object's version.
     * @param place    where it is.
     * @param checksum XXH64 of the value.
     */
    record PromotionTask(ObjectKey key, long version, ReplicaDescriptor.DistributedDisk place, long checksum) {
    }

    /** Lists the shared files; empty when the master has no page mode. */
    record DistributedBuckets() implements PageCommand<List<BucketInfo>> {
    }

    /**
     * What is known of a shared file.
     *
     * @param path      as all hosts name it.
     * @param pages     pages in it.
     * @param allocated pages in use: by replicas, by writers, or resting.
     */
    record BucketInfo(String path, long pages, long allocated) {
    }
}
