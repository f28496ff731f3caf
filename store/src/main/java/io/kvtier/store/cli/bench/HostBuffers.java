package io.kvtier.store.cli.bench;

import io.kvtier.alloc.HostRegion;
import io.kvtier.store.BatchResult;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RegisteredRegion;
import io.kvtier.store.Store;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Memory of the host, in whole pages, registered with the store. Every value has a stamp of its own, and every one that
 * is fetched is checked.
 *
 * @param memory of all places.
 * @param bytes  of a value.
 */
record HostBuffers(MemorySegment memory, long bytes) implements BatchBuffers {
    /** Makes them, and registers them with the store. */
    static HostBuffers open(final Rig rig, final Workspace workspace, final ValueBatches.Shape shape,
        final Store store) {
        final HostRegion region = rig.keep(workspace.filled(shape.bytes() * (shape.count() + 1), shape.count()));
        rig.keep(store.register(region), RegisteredRegion::close);
        return new HostBuffers(region.segment(), shape.bytes());
    }

    private MemorySegment place(final int place) {
        return memory.asSlice(place * bytes, bytes);
    }

    @Override
    public void write(final int place, final long number) {
        Stamps.write(place(place), number);
    }

    @Override
    public void spoil(final int place) {
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
    public List<BatchResult<PutOutcome>> put(final Store store, final List<ObjectKey> keys) {
        return store.putBatch(items(keys, 0), PutOptions.DEFAULT);
    }

    @Override
    public List<BatchResult<GetOutcome>> get(final Store store, final List<ObjectKey> keys, final int first) {
        return store.getBatch(items(keys, first));
    }

    private List<Store.Item> items(final List<ObjectKey> keys, final int first) {
        return IntStream.range(0, keys.size())
            .mapToObj(i -> new Store.Item(keys.get(i), List.of(place(first + i)))).toList();
    }
}
