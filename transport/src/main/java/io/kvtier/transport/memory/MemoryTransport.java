package io.kvtier.transport.memory;

import io.kvtier.alloc.HostMemory;
import io.kvtier.bindings.Availability;
import io.kvtier.transport.Capability;
import io.kvtier.transport.HostCopy;
import io.kvtier.transport.Segment;
import io.kvtier.transport.SegmentTarget;
import io.kvtier.transport.Slice;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.TransportSegment;
import java.util.Set;

/**
 * Copies between a region of this process and local memory, see {@link HostCopy}.
 *
 * <p><b>Threading:</b> stateless. <b>Blocking:</b> never; a slice is complete when submit returns.
 */
public final class MemoryTransport implements Transport {
    private static final Capability CAPABILITY = new Capability(TransportKind.MEMORY, Set.of(Segment.Kind.MEMORY),
        Availability.yes("copies by the JVM"));

    private record RegionHandle(HostMemory region) implements TransportSegment {
        @Override
        public long byteSize() {
            return region.byteSize();
        }

        @Override
        public void close() {
            // The region belongs to whoever registered it.
        }
    }

    /** Needs nothing. */
    public MemoryTransport() {
        // Stateless.
    }

    @Override
    public Capability capability() {
        return CAPABILITY;
    }

    @Override
    public TransportSegment open(final SegmentTarget target) {
        if (target.region() instanceof HostMemory host) {
            return new RegionHandle(host);
        }
        throw new IllegalArgumentException("segment " + target.address().name() + " is memory of a device, which the "
            + "processor cannot copy");
    }

    @Override
    public String check(final Slice slice) {
        return HostCopy.problem(slice, ((RegionHandle) slice.handle()).region());
    }

    @Override
    public void submit(final Slice slice) {
        HostCopy.move(slice, ((RegionHandle) slice.handle()).region());
    }

    @Override
    public void sync(final Slice slice) {
        slice.completed();
    }

    @Override
    public void close() {
        // Nothing is held.
    }
}
