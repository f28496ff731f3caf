package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PageCommand;
import io.kvtier.store.protocol.PageCommand.BucketInfo;
import io.kvtier.store.protocol.PageCommand.PageAllocation;
import io.kvtier.store.protocol.PageCommand.PageMapping;
import io.kvtier.store.protocol.PageCommand.PageOutcome;
import io.kvtier.store.protocol.PageCommand.PageRelease;
import io.kvtier.store.protocol.PageCommand.PageRequest;
import io.kvtier.store.protocol.PageCommand.StoredPages;
import io.kvtier.store.replica.PageLayout;
import java.util.List;
import java.util.UUID;

/** A master with shared files, whose clients have memory, and short words for what they say of pages. */
final class PageRig implements AutoCloseable {
    static final long PAGE = 4096;
    /** Of all values, as it is told with them. */
    static final long SUM = 99;
    static final int BUCKETS = 4;
    static final int PAGES = 8;
    static final PageLayout LAYOUT = new PageLayout("/mnt/m", BUCKETS, PAGE, PAGES * PAGE);

    static final PutOptions IN_ALICE = PutOptions.DEFAULT.withPreferredSegments("alice");
    static final PutOptions IN_BOB = PutOptions.DEFAULT.withPreferredSegments("bob");

    final MasterRig rig;

    /** Four files of eight pages; nothing is evicted from them but for want of room. */
    PageRig() {
        this(pages(1, 0, false, new MasterSettings.Promotion(false, 2, 10)));
    }

    PageRig(final MasterSettings.Pages pages) {
        this(MasterRig.settings().withPages(pages));
    }

    PageRig(final MasterSettings settings) {
        rig = new MasterRig(settings);
        rig.memory(MasterRig.ALICE, "alice", 256 * PAGE);
        rig.memory(MasterRig.BOB, "bob", 256 * PAGE);
        mount(MasterRig.ALICE);
        mount(MasterRig.BOB);
    }

    static MasterSettings.Pages pages(final double highWatermark, final double ratio, final boolean atPut,
        final MasterSettings.Promotion promotion) {
        return new MasterSettings.Pages(LAYOUT, "blue", highWatermark, ratio, atPut, promotion);
    }

    void mount(final UUID client) {
        assertEquals(new PageCommand.DistributedDiskTerms("blue", MasterRig.RELEASE_MS, null),
            rig.apply(new PageCommand.MountDistributedDisk(client, LAYOUT, null, false)));
    }

    PageAllocation allocate(final UUID client, final String key, final long version, final long size,
        final long source) {
        return rig.apply(new PageCommand.AllocateDistributedPage(client,
            new PageRequest(MasterRig.key(key), version, size, source)));
    }

    /** Pages that there are; the answer. */
    PageAllocation allocated(final UUID client, final String key, final long version, final long size) {
        final PageAllocation allocation = allocate(client, key, version, size, 0);
        assertEquals(PageOutcome.ALLOCATED, allocation.outcome(), key);
        assertEquals(size, allocation.place().objectSize());
        return allocation;
    }

    PageAllocation allocated(final UUID client, final OffloadTask task) {
        final PageAllocation allocation = allocate(client, task.key().key(), task.version(), task.source().size(),
            task.replicaId());
        assertEquals(PageOutcome.ALLOCATED, allocation.outcome());
        return allocation;
    }

    Ack stored(final UUID client, final String key, final long version, final PageAllocation allocation) {
        return stored(client, key, version, allocation.replicaId(), SUM);
    }

    Ack stored(final UUID client, final String key, final long version, final long replica, final long checksum) {
        return rig.apply(new PageCommand.NotifyDistributedDiskSuccess(client,
            List.of(new StoredPages(MasterRig.key(key), version, replica, checksum)))).getFirst();
    }

    Ack free(final UUID client, final String key, final long version, final PageAllocation allocation,
        final boolean settled) {
        return rig.apply(new PageCommand.FreeDistributedPage(client,
            new PageRelease(MasterRig.key(key), version, allocation.replicaId(), settled)));
    }

    PageMapping mapping(final String key) {
        return rig.apply(new PageCommand.GetDistributedPageMapping(MasterRig.key(key)));
    }

    /** A value of whole pages in memory and in the shared files; its version. */
    long shared(final UUID client, final String key, final long pages) {
        final long version = rig.put(client, key, pages * PAGE);
        assertEquals(Ack.OK, stored(client, key, version, allocated(client, key, version, pages * PAGE)));
        return version;
    }

    /** The same, in the shared files alone. */
    long sharedAlone(final UUID client, final String key, final long pages) {
        final long version = shared(client, key, pages);
        rig.passAlive(MasterRig.LEASE_MS);
        rig.evict(1, 1);
        return version;
    }

    /** Pages in use of each file. */
    List<Long> used() {
        return rig.apply(new PageCommand.DistributedBuckets()).stream().map(BucketInfo::allocated).toList();
    }

    long usedPages() {
        return used().stream().mapToLong(Long::longValue).sum();
    }

    static ObjectKey key(final String tenant, final String name) {
        return ObjectKey.of(tenant, name);
    }

    @Override
    public void close() {
        rig.close();
    }
}
