package io.kvtier.transport.memory;

import io.kvtier.alloc.HostMemory;
import io.kvtier.bindings.Availability;
import io.kvtier.transport.Capability;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Segment;
import io.kvtier.transport.SegmentTarget;
import io.kvtier.transport.Slice;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.TransportSegment;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * Copies between a region of this process and local memory with {@link MemorySegment}, which checks bounds and
 * lifetime and turns a page that is gone (a mapped file that was cut) into an error instead of a crash.
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
        final MemorySegment memory = ((RegionHandle) slice.handle()).region().segment();
        if (!isUsable(((HostMemory) slice.region()).segment())) {
            return "the local memory is closed or belongs to another thread";
        }
        if (!isUsable(memory)) {
            return "the region of the segment is closed or belongs to another thread";
        }
        if (slice.direction() == Direction.WRITE && memory.isReadOnly()) {
            return "the region of the segment is read-only";
        }
        final long size = memory.byteSize();
        return slice.length() > size - slice.offset()
            ? "bytes " + slice.offset() + " to " + (slice.offset() + slice.length()) + " are not inside the segment of "
                + size + " bytes"
            : null;
    }

    private static boolean isUsable(final MemorySegment memory) {
        return memory.scope().isAlive() && memory.isAccessibleBy(Thread.currentThread());
    }

    @Override
    public void submit(final Slice slice) {
        if (!slice.wanted()) {
            slice.canceled();
            return;
        }
        try {
            final HostMemory region = ((RegionHandle) slice.handle()).region();
            final HostMemory local = (HostMemory) slice.region();
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
        // Nothing is held.
    }
}
