package io.kvtier.transport.memory;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.MemoryKind;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.transport.Capability;
import io.kvtier.transport.HostCopy;
import io.kvtier.transport.Segment;
import io.kvtier.transport.SegmentTarget;
import io.kvtier.transport.Slice;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.TransportSegment;
import io.kvtier.transport.device.Devices;
import io.kvtier.transport.device.Gpus;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Copies between a region of this process and local memory. Host memory is copied as {@link HostCopy} does; memory of a
 * GPU, as segment or as local memory, is copied by CUDA where a context was given.
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
        this(new Gpus(Devices.CUDA, contexts));
    }

    /**
     * For host memory and that of GPUs.
     *
     * @param gpus at least one, and what drives them.
     * @throws io.kvtier.bindings.cuda.CudaException when a stream cannot be made.
     */
    public MemoryTransport(final Gpus gpus) {
        this(gpus.count() == 0 ? null : new DeviceCopies(gpus, COPY_THREADS), gpus.count());
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
        if (handle.host() != null && slice.region() instanceof HostMemory) {
            return HostCopy.problem(slice, handle.host());
        }
        final long size = handle.byteSize();
        return slice.length() > size - slice.offset()
            ? "bytes " + slice.offset() + " to " + (slice.offset() + slice.length()) + " are not inside the segment of "
                + size + " bytes"
            : copies.check(slice, handle.region());
    }

    @Override
    public void submit(final Slice slice) {
        final RegionHandle handle = (RegionHandle) slice.handle();
        if (handle.host() != null && slice.region() instanceof HostMemory) {
            HostCopy.move(slice, handle.host());
        } else {
            copies.submit(slice, handle.region());
        }
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
