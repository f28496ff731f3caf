package io.kvtier.transport.memory;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.MemoryKind;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.transport.Capability;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Segment;
import io.kvtier.transport.SegmentTarget;
import io.kvtier.transport.Slice;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.TransportSegment;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Copies between a region of this process and local memory. Host memory is copied with {@link MemorySegment}, which
 * checks bounds and lifetime and turns a page that is gone (a mapped file that was cut) into an error instead of a
 * crash. Memory of a GPU, as segment or as local memory, is copied by CUDA where a context was given.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> owns threads and streams for devices, if any; the contexts stay
 * the caller's, who closes them after the engine. <b>Blocking:</b> never; a slice between host memory and host memory
 * is complete when submit returns.
 */
public final class MemoryTransport implements Transport {
    private static final Set<MemoryKind> ALL_MEMORY = Set.copyOf(EnumSet.allOf(MemoryKind.class));
    private static final int COPY_THREADS = 2;

    private final Capability capability;
    private final DeviceCopies copies;

    /** What a segment is: host memory, or memory of a device, when the first is null. */
    private record RegionHandle(HostMemory host, MemoryRegion region) implements TransportSegment {
        @Override
        public long byteSize() {
            return region.byteSize();
        }

        @Override
        public void close() {
            // The region belongs to whoever registered it.
        }
    }

    /** For host memory alone. */
    public MemoryTransport() {
        capability = new Capability(TransportKind.MEMORY, Set.of(Segment.Kind.MEMORY),
            Availability.yes("copies by the JVM, of host memory only: no CUDA context was given"));
        copies = null;
    }

    /**
     * For host memory and that of GPUs.
     *
     * @param contexts one of each GPU, at least one.
     * @throws io.kvtier.bindings.cuda.CudaException when a stream cannot be made.
     */
    public MemoryTransport(final List<CudaContext> contexts) {
        this(contexts.isEmpty() ? null : new DeviceCopies(DeviceCopies.CUDA, List.copyOf(contexts), COPY_THREADS),
            contexts.size());
    }

    /** Over any copies of device memory; closes them. */
    MemoryTransport(final DeviceCopies copies, final int devices) {
        if (copies == null) {
            throw new IllegalArgumentException("no CUDA context was given; for host memory alone give no list");
        }
        capability = new Capability(TransportKind.MEMORY, Set.of(Segment.Kind.MEMORY), ALL_MEMORY,
            Availability.yes("copies of host memory by the JVM, of device memory by CUDA, devices: " + devices));
        this.copies = copies;
    }

    @Override
    public Capability capability() {
        return capability;
    }

    @Override
    public TransportSegment open(final SegmentTarget target) {
        if (target.region() instanceof HostMemory host) {
            return new RegionHandle(host, host);
        }
        if (copies == null || !(target.region() instanceof DeviceRegion)) {
            throw new IllegalArgumentException("segment " + target.address().name() + " is memory of a device, which "
                + "the processor cannot copy; open the memory transport with a context of that device");
        }
        return new RegionHandle(null, target.region());
    }

    @Override
    public String check(final Slice slice) {
        final RegionHandle handle = (RegionHandle) slice.handle();
        final long size = handle.byteSize();
        if (slice.length() > size - slice.offset()) {
            return "bytes " + slice.offset() + " to " + (slice.offset() + slice.length())
                + " are not inside the segment of " + size + " bytes";
        }
        return handle.host() != null && slice.region() instanceof HostMemory local
            ? checkHost(slice, handle.host().segment(), local.segment()) : copies.check(slice, handle.region());
    }

    private static String checkHost(final Slice slice, final MemorySegment memory, final MemorySegment local) {
        if (!isUsable(local)) {
            return "the local memory is closed or belongs to another thread";
        }
        if (!isUsable(memory)) {
            return "the region of the segment is closed or belongs to another thread";
        }
        return slice.direction() == Direction.WRITE && memory.isReadOnly() ? "the region of the segment is read-only"
            : null;
    }

    private static boolean isUsable(final MemorySegment memory) {
        return memory.scope().isAlive() && memory.isAccessibleBy(Thread.currentThread());
    }

    @Override
    public void submit(final Slice slice) {
        final RegionHandle handle = (RegionHandle) slice.handle();
        if (handle.host() != null && slice.region() instanceof HostMemory local) {
            copyHost(slice, handle.host(), local);
        } else {
            copies.submit(slice, handle.region());
        }
    }

    private static void copyHost(final Slice slice, final HostMemory region, final HostMemory local) {
        if (!slice.wanted()) {
            slice.canceled();
            return;
        }
        try {
            if (slice.direction() == Direction.READ) {
                MemorySegment.copy(region.segment(), slice.offset(), local.segment(), slice.localOffset(),
                    slice.length());
            } else {
                MemorySegment.copy(local.segment(), slice.localOffset(), region.segment(), slice.offset(),
                    slice.length());
            }
            region.raiseFault();
            local.raiseFault();
        } catch (final IllegalStateException | InternalError e) {
            // A region closed too early, or a mapped file that was cut under the copy.
            slice.failed(e);
            return;
        }
        slice.completed();
    }

    @Override
    public void sync(final Slice slice) {
        slice.completed();
    }

    @Override
    public void close() {
        if (copies != null) {
            copies.close();
        }
    }
}
