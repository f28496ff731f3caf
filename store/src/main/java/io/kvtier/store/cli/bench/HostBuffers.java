package io.kvtier.store.cli.bench;

import io.kvtier.alloc.HostRegion;
import io.kvtier.store.BatchResult;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RegisteredRegion;
import io.kvtier.store.Store;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Memory of the host, in whole pages. Every value has a stamp of its own, and every one that is fetched is checked.
 *
 * <p>What fits no huge page lies in many ordinary ones, of which each batch that is fetched has others: see
 * {@link FileRows}.
 *
 * <p><b>Threading:</b> one thread at a time.
 */
final class HostBuffers implements BatchBuffers {
    private final MemorySegment memory;
    private final long bytes;
    /** Of all places of a batch. */
    private final long groupBytes;
    private final BatchValues values;
    /** Where the places of the batch begin. */
    private long group;

    private HostBuffers(final MemorySegment memory, final ValueBatches.Shape shape, final BatchValues values) {
        this.memory = memory;
        this.bytes = shape.bytes();
        this.groupBytes = bytes(shape);
        this.values = values;
    }

    /** Makes them for values of a store, with which they are registered. */
    static HostBuffers open(final Rig rig, final Workspace workspace, final ValueBatches.Shape shape,
        final Store store) {
        final HostRegion region = region(rig, workspace, shape);
        rig.keep(store.register(region), RegisteredRegion::close);
        return new HostBuffers(region.segment(), shape, new StoreBatches(store));
    }

    /** Makes them for values that something else keeps. */
    static HostBuffers open(final Rig rig, final Workspace workspace, final ValueBatches.Shape shape,
        final BatchValues values) {
        return new HostBuffers(region(rig, workspace, shape).segment(), shape, values);
    }

    private static HostRegion region(final Rig rig, final Workspace workspace, final ValueBatches.Shape shape) {
        return rig.keep(bytes(shape) < FileRows.HUGE_PAGE
            ? workspace.filledPages(FileRows.ORDINARY_BYTES, shape.count())
            : workspace.filled(bytes(shape), shape.count()));
    }

    private static long bytes(final ValueBatches.Shape shape) {
        return shape.bytes() * (shape.count() + 1);
    }

    private MemorySegment place(final int place) {
        return memory.asSlice(group + place * bytes, bytes);
    }

    /** A batch that is fetched begins with its first place. */
    private void nextGroup() {
        group += groupBytes;
        if (group + groupBytes > memory.byteSize()) {
            group = 0;
        }
    }

    @Override
    public void write(final int place, final long number) {
        Stamps.write(place(place), number);
    }

    @Override
    public void spoil(final int place) {
        if (place == 0) {
            nextGroup();
        }
        Stamps.spoil(place(place));
    }

    @Override
    public void check(final int place, final long number) throws IOException {
        Stamps.check(place(place), number);
    }

    @Override
    public void clear(final int place) {
        spoil(place);
    }

    @Override
    public void verify(final int place, final long number) throws IOException {
        check(place, number);
    }

    @Override
    public List<BatchResult<PutOutcome>> put(final List<ObjectKey> keys) throws IOException {
        return values.put(items(keys, 0));
    }

    @Override
    public List<BatchResult<GetOutcome>> get(final List<ObjectKey> keys, final int first) throws IOException {
        return values.get(items(keys, first));
    }

    private List<Store.Item> items(final List<ObjectKey> keys, final int first) {
        return IntStream.range(0, keys.size())
            .mapToObj(i -> new Store.Item(keys.get(i), List.of(place(first + i)))).toList();
    }
}
