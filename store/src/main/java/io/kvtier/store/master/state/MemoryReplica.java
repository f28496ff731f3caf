package io.kvtier.store.master.state;

import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaStatus;

/**
 * A range of a segment that belongs to one object.
 *
 * <p>It stands in the {@link EvictionOrder} exactly when it is complete, owned and not held. Its range is freed when it
 * has no owner and nobody holds it, whichever comes last.
 */
final class MemoryReplica {
    private final long id;
    private final Segments.Mounted segment;
    private final long offset;
    private final long size;
    private final long allocated;

    private ObjectEntry owner;
    private ReplicaStatus status = ReplicaStatus.PROCESSING;
    private int holds;
    private boolean offloading;
    private boolean usedWhileOffloading;
    private boolean refusedByDisk;

    // Links of the eviction order, which alone writes them.
    private EvictionOrder.List list;
    private MemoryReplica older;
    private MemoryReplica newer;

    MemoryReplica(final long id, final ObjectEntry owner, final Segments.Mounted segment, final long offset,
        final long size, final long allocated) {
        this.id = id;
        this.owner = owner;
        this.segment = segment;
        this.offset = offset;
        this.size = size;
        this.allocated = allocated;
    }

    long id() {
        return id;
    }

    Segments.Mounted segment() {
        return segment;
    }

    long offset() {
        return offset;
    }

    /** Bytes taken from the segment. */
    long allocated() {
        return allocated;
    }

    ReplicaDescriptor.Memory descriptor() {
        return new ReplicaDescriptor.Memory(segment.address(), offset, size);
    }

    Replica writing() {
        return new Replica(id, ReplicaStatus.PROCESSING, descriptor());
    }

    Replica complete() {
        status = ReplicaStatus.COMPLETE;
        return new Replica(id, ReplicaStatus.COMPLETE, descriptor());
    }

    boolean isComplete() {
        return status == ReplicaStatus.COMPLETE;
    }

    ObjectEntry owner() {
        return owner;
    }

    void disown() {
        owner = null;
        status = ReplicaStatus.REMOVED;
    }

    boolean isHeld() {
        return holds > 0;
    }

    void hold() {
        holds++;
    }

    void release() {
        if (holds == 0) {
            throw new IllegalStateException("memory replica " + id + " was released more often than it was held");
        }
        holds--;
    }

    boolean isOffloading() {
        return offloading;
    }

    void offloadStarted() {
        offloading = true;
        usedWhileOffloading = false;
    }

    void offloadEnded() {
        offloading = false;
    }

    /** A use while it is being copied down saves it from being dropped right afterwards. */
    void used() {
        usedWhileOffloading = true;
    }

    boolean wasUsedWhileOffloading() {
        return usedWhileOffloading;
    }

    boolean isRefusedByDisk() {
        return refusedByDisk;
    }

    void refuseByDisk() {
        refusedByDisk = true;
    }

    EvictionOrder.List list() {
        return list;
    }

    void list(final EvictionOrder.List in) {
        list = in;
    }

    MemoryReplica older() {
        return older;
    }

    void older(final MemoryReplica replica) {
        older = replica;
    }

    MemoryReplica newer() {
        return newer;
    }

    void newer(final MemoryReplica replica) {
        newer = replica;
    }
}
