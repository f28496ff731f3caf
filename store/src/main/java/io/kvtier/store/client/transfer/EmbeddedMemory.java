package io.kvtier.store.client.transfer;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** The memory tier of an embedded store: one region, which lives as long as the store. */
public record EmbeddedMemory(HostRegion region) implements ReplicaMemory {
    private record Range(RegionSlice slice) implements OwnRange {
        @Override
        public void close() {
            // The region outlives every call.
        }
    }

    @Override
    public Move startRead(final ReplicaDescriptor.Memory replica, final long offset, final long length,
        final List<MemorySegment> target, final long timeoutMs, final boolean alone) {
        ScatterGather.scatter(region.segment(), replica.offset() + offset, length, target);
        return Move.DONE;
    }

    @Override
    public Move startWrite(final List<ReplicaDescriptor.Memory> replicas, final List<MemorySegment> source,
        final long timeoutMs, final boolean alone) {
        for (int i = 0; i < replicas.size(); i++) {
            ScatterGather.gather(source, region.segment(), replicas.get(i).offset());
        }
        return Move.DONE;
    }

    @Override
    public OwnRange own(final ReplicaDescriptor.Memory replica, final long bytes) {
        return new Range(region.slice(replica.offset(), bytes));
    }

    @Override
    public HostRegion lasting() {
        return region;
    }

    @Override
    public void close() {
        region.close();
    }
}
