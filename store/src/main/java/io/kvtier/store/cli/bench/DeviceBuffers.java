package io.kvtier.store.cli.bench;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.CudaCopies;
import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.store.BatchResult;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RegionItem;
import io.kvtier.store.RegisteredRegion;
import io.kvtier.store.Store;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Memory of a GPU, registered with the store that uses it. The processor cannot stamp it without a copy as long as the
 * one that is measured: each place keeps one stamp, and what is in all of them is looked at between measurements.
 *
 * @param context of the GPU.
 * @param region  all places.
 * @param content what they are filled from, and looked at in, as large.
 * @param shape   of the batches.
 * @param store   keeps the values.
 */
record DeviceBuffers(CudaContext context, DeviceRegion region, HostRegion content, ValueBatches.Shape shape,
                     Store store) implements BatchBuffers {
    /** Makes them on the first GPU, every place with its stamp, and registers them with the store. */
    static DeviceBuffers open(final Rig rig, final Workspace workspace, final CudaContext context,
        final ValueBatches.Shape shape, final Store store) {
        final long all = shape.bytes() * (shape.count() + 1);
        final DeviceRegion region = rig.keep(DeviceRegion.allocate(context, all));
        final HostRegion content = rig.keep(workspace.filled(all, shape.count()));
        for (int i = 0; i < shape.count(); i++) {
            Stamps.write(content.segment().asSlice(i * shape.bytes(), shape.bytes()), i);
        }
        CudaCopies.toDevice(context, content.segment(), region.pointer());
        rig.keep(store.register(region), RegisteredRegion::close);
        return new DeviceBuffers(context, region, content, shape, store);
    }

    private MemorySegment host(final int place) {
        return content.segment().asSlice(place * shape.bytes(), shape.bytes());
    }

    private DevicePointer device(final int place) {
        return region.pointer().slice(place * shape.bytes(), shape.bytes());
    }

    @Override
    public void write(final int place, final long number) {
        // It is there.
    }

    @Override
    public void spoil(final int place) {
        // Between measurements; see clear.
    }

    @Override
    public void check(final int place, final long number) {
        // Between measurements; see verify.
    }

    @Override
    public void clear(final int place) {
        Stamps.spoil(host(place));
        CudaCopies.toDevice(context, host(place), device(place));
    }

    @Override
    public void verify(final int place, final long number) throws IOException {
        CudaCopies.toHost(context, device(place), host(place));
        Stamps.check(host(place), number % shape.count());
    }

    @Override
    public List<BatchResult<PutOutcome>> put(final List<ObjectKey> keys) {
        return store.putRegionBatch(items(keys, 0), PutOptions.DEFAULT);
    }

    @Override
    public List<BatchResult<GetOutcome>> get(final List<ObjectKey> keys, final int first) {
        return store.getRegionBatch(items(keys, first));
    }

    private List<RegionItem> items(final List<ObjectKey> keys, final int first) {
        return IntStream.range(0, keys.size()).mapToObj(i -> RegionItem.of(keys.get(i),
            region.slice((first + i) * shape.bytes(), shape.bytes()))).toList();
    }
}
