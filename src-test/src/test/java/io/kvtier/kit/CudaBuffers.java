package io.kvtier.kit;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.CudaCopies;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Memory of a real GPU. */
public final class CudaBuffers implements DeviceBuffers {
    private final CudaContext context;
    private final List<DeviceRegion> regions = new CopyOnWriteArrayList<>();

    public CudaBuffers(final CudaContext context) {
        this.context = context;
    }

    @Override
    public DeviceRegion allocate(final long bytes) {
        final DeviceRegion region = DeviceRegion.allocate(context, bytes);
        regions.add(region);
        return region;
    }

    @Override
    public void put(final MemorySegment source, final DeviceRegion target, final long offset) {
        CudaCopies.toDevice(context, source, target.pointer().slice(offset, source.byteSize()));
        context.synchronize();
    }

    @Override
    public void get(final DeviceRegion source, final long offset, final MemorySegment target) {
        CudaCopies.toHost(context, source.pointer().slice(offset, target.byteSize()), target);
    }

    @Override
    public void close() {
        regions.forEach(DeviceRegion::close);
    }
}
