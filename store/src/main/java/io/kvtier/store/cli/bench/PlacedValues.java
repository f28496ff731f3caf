package io.kvtier.store.cli.bench;

import io.kvtier.store.BatchResult;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreException;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.storage.BlockHash;
import io.kvtier.store.storage.shared.DistributedPageWriter;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Values one behind the other in a single shared file, in the order in which they are put; no master is asked where
 * they are.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> all that it uses belongs to the rig.
 */
final class PlacedValues implements BatchValues {
    private static final long WRITE_SECONDS = 60;

    private final PageLayout layout;
    private final SharedReads reads;
    private final DistributedPageWriter writer;
    private final boolean compared;
    private final Map<String, Placed> values = new HashMap<>();
    private long end;

    /** Where a value is, and what it must be. */
    private record Placed(ReplicaDescriptor.DistributedDisk place, long checksum) {
    }

    /**
     * None are there yet.
     *
     * @param layout   of one file, which is there and large enough for all.
     * @param reads    reads them.
     * @param compared whether what is fetched is compared with its checksum.
     */
    PlacedValues(final PageLayout layout, final SharedReads reads, final boolean compared) {
        this.layout = layout;
        this.reads = reads;
        this.writer = new DistributedPageWriter(reads.kept());
        this.compared = compared;
    }

    @Override
    public List<BatchResult<PutOutcome>> put(final List<Store.Item> items) {
        final List<DistributedPageWriter.Page> pages = new ArrayList<>(items.size());
        for (final Store.Item item : items) {
            final MemorySegment value = item.memory().getFirst();
            final ReplicaDescriptor.DistributedDisk place =
                new ReplicaDescriptor.DistributedDisk(layout.path(0), end, value.byteSize());
            values.put(item.key().key(), new Placed(place, BlockHash.xxh64(value)));
            pages.add(new DistributedPageWriter.Page(place, value));
            end += Math.ceilDiv(value.byteSize(), layout.pageBytes()) * layout.pageBytes();
        }
        writer.write(pages, System.nanoTime() + TimeUnit.SECONDS.toNanos(WRITE_SECONDS), () -> { });
        return pages.stream().map(page -> result(page.problem())).toList();
    }

    private static BatchResult<PutOutcome> result(final StoreException problem) {
        return new BatchResult<>(problem == null ? PutOutcome.STORED : null, problem);
    }

    @Override
    public List<BatchResult<GetOutcome>> get(final List<Store.Item> items) throws IOException {
        final List<SharedReads.Wanted> wanted = new ArrayList<>(items.size());
        final List<BatchResult<GetOutcome>> results = new ArrayList<>(items.size());
        for (final Store.Item item : items) {
            final Placed placed = values.get(item.key().key());
            wanted.add(new SharedReads.Wanted(placed.place(), compared ? placed.checksum() : null,
                item.memory().getFirst()));
            results.add(new BatchResult<>(new GetOutcome(true, placed.place().objectSize(),
                ReplicaType.DISTRIBUTED_DISK), null));
        }
        reads.read(wanted);
        return results;
    }
}
