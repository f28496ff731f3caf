package io.kvtier.store.cli.bench;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.Availability;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * How long a store takes to open whose disk has many values: until all of them can be read. What the file system still
 * knows of the files from the time before is not taken from it.
 */
final class RecoveryRows {
    private static final long VALUE_BYTES = StoreConfig.UNIT_BYTES;
    private static final int BATCH = 8192;
    /** A file a value takes so much longer to write that there are so many fewer of them. */
    private static final int FEWER = 100;
    private static final int CHECKED = 100;
    private static final double NO_GOAL = 0;
    private static final Peer NOBODY = new Peer("nobody", Availability.no("no figure", "a goal is not set"));

    private final Workspace workspace;

    RecoveryRows(final Workspace workspace) {
        this.workspace = workspace;
    }

    List<Row> rows() {
        final List<Row> rows = new ArrayList<>();
        for (final DiskBackend backend : DiskBackend.values()) {
            final int values = values(backend);
            rows.add(new Row("time to open " + BackendRows.name(backend) + " with " + Names.count(values) + " values",
                Unit.NANOSECONDS, NOBODY, NO_GOAL, () -> DirectFolders.here(workspace.directory()),
                () -> Rig.with(rig -> {
                    final Path folder = DirectFolders.make(rig, workspace.directory(), "disk-");
                    fill(backend, folder, values);
                    return new Contest(rig, nanos -> open(backend, folder, values), nanos -> Double.NaN);
                })));
        }
        return rows;
    }

    private int values(final DiskBackend backend) {
        return backend == DiskBackend.OFFSET_ALLOCATOR || backend == DiskBackend.BUCKET ? workspace.objects()
            : Math.max(1, workspace.objects() / FEWER);
    }

    /** An eighth more than the values take, so that none has to go. */
    private static long capacity(final int values) {
        return (values + values / Byte.SIZE + Byte.SIZE) * VALUE_BYTES;
    }

    private void fill(final DiskBackend backend, final Path folder, final int values) throws IOException {
        try (Rig rig = new Rig()) {
            final BackendValues disk = BackendValues.open(rig, backend, folder, capacity(values));
            final HostRegion memory = rig.keep(workspace.filled(BATCH * VALUE_BYTES, 1));
            for (int first = 0; first < values; first += BATCH) {
                final List<Store.Item> items = new ArrayList<>(BATCH);
                for (int i = first; i < Math.min(values, first + BATCH); i++) {
                    final MemorySegment value = new RegionSlice(memory, (i - first) * VALUE_BYTES, VALUE_BYTES)
                        .segment();
                    Stamps.write(value, i);
                    items.add(new Store.Item(key(i), List.of(value)));
                }
                for (final var result : disk.put(items)) {
                    if (result.orThrow() != PutOutcome.STORED) {
                        throw new IOException("the disk does not take a value: " + result.outcome());
                    }
                }
            }
        }
    }

    private double open(final DiskBackend backend, final Path folder, final int values) throws IOException {
        final StoreConfig config = StoreConfig.builder().memoryBytes(StoreConfig.UNIT_BYTES)
            .disk(folder, capacity(values)).diskWatermarks(1, 1).diskBackend(backend).promoteOnHit(false)
            .gds(GdsConfig.NONE).build();
        final long start = System.nanoTime();
        try (Store store = Store.open(config); HostRegion memory = workspace.filledPages(VALUE_BYTES, 1)) {
            final double nanos = System.nanoTime() - start;
            if (store.stats().objects() != values) {
                throw new IOException("the store finds " + store.stats().objects() + " of " + values + " values");
            }
            for (int i = 0; i < values; i += Math.max(1, values / CHECKED)) {
                Stamps.spoil(memory.segment());
                final GetOutcome outcome = store.get(key(i), memory.segment());
                if (!outcome.hit()) {
                    throw new IOException("the store does not find " + key(i) + ": " + outcome);
                }
                Stamps.check(memory.segment(), i);
            }
            return nanos;
        }
    }

    private static ObjectKey key(final int number) {
        return ValueBatches.key(number);
    }
}
