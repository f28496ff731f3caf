package io.kvtier.store.master.state;

import io.kvtier.alloc.extent.ExtentAllocator;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.replica.SegmentAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;

/** The memory segments that clients lend, and what is allocated in each. */
final class Segments implements AutoCloseable {
    /** One thread at a time allocates here, and placement must depend on nothing but the commands. */
    private static final int ALLOCATOR_LANES = 1;

    private final Map<UUID, Mounted> mounted = new LinkedHashMap<>();
    private long replicas;

    /** A segment and its allocator. */
    static final class Mounted {
        private final SegmentAddress address;
        private final UUID clientId;
        private final ExtentAllocator allocator;

        Mounted(final SegmentAddress address, final UUID clientId, final ExtentAllocator allocator) {
            this.address = address;
            this.clientId = clientId;
            this.allocator = allocator;
        }

        UUID id() {
            return address.segmentId();
        }

        SegmentAddress address() {
            return address;
        }

        UUID clientId() {
            return clientId;
        }

        long capacity() {
            return allocator.capacityBytes();
        }

        long used() {
            return allocator.allocatedBytes();
        }
    }

    /** False when the id is taken. */
    boolean mount(final UUID clientId, final SegmentCommand.SegmentSpec spec) {
        final UUID id = spec.address().segmentId();
        if (mounted.containsKey(id)) {
            return false;
        }
        mounted.put(id, new Mounted(spec.address(), clientId,
            ExtentAllocator.create(spec.capacity(), spec.unit(), ALLOCATOR_LANES)));
        return true;
    }

    /** Takes a range for a value; null when no segment has one. A value of 0 bytes takes a unit, so it is evicted. */
    MemoryReplica allocate(final long replicaId, final ObjectEntry owner, final long size) {
        for (final Mounted segment : mounted.values()) {
            final long allocated = allocatedBytes(segment, size);
            final long offset = segment.allocator.allocate(allocated);
            if (offset != ExtentAllocator.NO_SPACE) {
                replicas++;
                return new MemoryReplica(replicaId, owner, segment, offset, size, allocated);
            }
        }
        return null;
    }

    void free(final MemoryReplica replica) {
        if (!replica.segment().allocator.free(replica.offset(), replica.allocated())) {
            throw new IllegalStateException("segment " + replica.segment().id() + " does not know the range of replica "
                + replica.id() + " at offset " + replica.offset());
        }
        replicas--;
    }

    long largestSegment() {
        return mounted.values().stream().mapToLong(Mounted::capacity).max().orElse(0);
    }

    long capacity() {
        return mounted.values().stream().mapToLong(Mounted::capacity).sum();
    }

    long used() {
        return mounted.values().stream().mapToLong(Mounted::used).sum();
    }

    long replicas() {
        return replicas;
    }

    @Override
    public void close() {
        mounted.values().forEach(segment -> segment.allocator.close());
        mounted.clear();
    }

    private static long allocatedBytes(final Mounted segment, final long size) {
        final long unit = segment.allocator.unitBytes();
        return Math.max(unit, size + unit - 1 & -unit);
    }
}
