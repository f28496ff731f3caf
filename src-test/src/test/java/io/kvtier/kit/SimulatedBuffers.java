package io.kvtier.kit;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.bindings.cuda.DevicePointer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** What counts as device memory in a simulation: native memory, which another library seems to have allocated. */
@SuppressWarnings("restricted")
public final class SimulatedBuffers implements DeviceBuffers {
    private final SimulatedMemory memory;
    private final Arena arena = Arena.ofShared();
    private final List<DeviceRegion> regions = new CopyOnWriteArrayList<>();

    public SimulatedBuffers(final SimulatedMemory memory) {
        this.memory = memory;
    }

    @Override
    public DeviceRegion allocate(final long bytes) {
        final MemorySegment segment = arena.allocate(bytes, 4096);
        final DeviceRegion region = DeviceRegion.borrow(null,
            memory.allocated(new DevicePointer(segment.address(), bytes)));
        regions.add(region);
        return region;
    }

    /** New memory, with the bytes of a pattern in it. */
    public DeviceRegion pattern(final long seed, final int length) {
        final DeviceRegion region = allocate(length);
        PatternBytes.fill(bytes(region, 0, length), seed);
        return region;
    }

    /** All bytes of a region. */
    public static byte[] content(final DeviceRegion region) {
        return PatternBytes.copyOf(bytes(region, 0, region.byteSize()));
    }

    /** The bytes of a range. */
    public static MemorySegment bytes(final DeviceRegion region, final long offset, final long length) {
        return MemorySegment.ofAddress(region.pointer().address() + offset).reinterpret(length);
    }

    @Override
    public void put(final MemorySegment source, final DeviceRegion target, final long offset) {
        bytes(target, offset, source.byteSize()).copyFrom(source);
    }

    @Override
    public void get(final DeviceRegion source, final long offset, final MemorySegment target) {
        target.copyFrom(bytes(source, offset, target.byteSize()));
    }

    @Override
    public void close() {
        regions.forEach(region -> memory.freed(region.pointer().address()));
        arena.close();
    }
}
