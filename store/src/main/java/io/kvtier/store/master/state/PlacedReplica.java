package io.kvtier.store.master.state;

import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaStatus;

/**
 * A range of a segment that belongs to one object.
 *
 * <p>While it is written it belongs to its object's {@link PendingWrite}, {@link Replication} or promotion, complete
 * it belongs to the object's {@link Residency}. Its range is freed when it has no owner, nobody holds it and its rest
 * is over, whichever comes last.
 */
final class PlacedReplica {
    private long id;
    private final LentSegment segment;
    private final long offset;
    private final long size;
    private final long allocated;

    private ObjectEntry owner;
    private ReplicaStatus status = ReplicaStatus.PROCESSING;
    private int holds;
    private long restUntilMs;
    private boolean offloading;
    private boolean staying;
    private boolean usedWhileOffloading;
    private boolean refusedByDisk;
    private boolean gone;

    /** Next one in its residency, which alone writes it. */
    private PlacedReplica sibling;
    // Links of the segment's list, which alone writes them.
    private PlacedReplica previousInSegment;
    private PlacedReplica nextInSegment;

    PlacedReplica(final long id, final ObjectEntry owner, final LentSegment segment, final long offset,
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

    /** Another number, while nobody but its writer knows of it: what is said late of the one before is of nothing. */
    void renumber(final long another) {
        if (status != ReplicaStatus.PROCESSING) {
            throw new IllegalStateException("replica " + id + " is known by its number");
        }
        id = another;
    }

    LentSegment segment() {
        return segment;
    }

    long offset() {
        return offset;
    }

    /** Bytes of the value. */
    long size() {
        return size;
    }

    /** Bytes taken from the segment. */
    long allocated() {
        return allocated;
    }

    /** What a client sees of it. */
    Replica view() {
        return new Replica(id, status, descriptor());
    }

    private ReplicaDescriptor descriptor() {
        return switch (segment.medium()) {
            case MEMORY -> memory();
            case NOF -> new ReplicaDescriptor.Nof(segment.name(), offset, size);
            case GDS -> segment.gds().descriptor(this);
            case DISTRIBUTED_DISK -> place();
        };
    }

    /** Where it lies in the files that all clients mount. */
    ReplicaDescriptor.DistributedDisk place() {
        return new ReplicaDescriptor.DistributedDisk(segment.name(), offset, size);
    }

    ReplicaDescriptor.Memory memory() {
        return new ReplicaDescriptor.Memory(segment.address(), offset, size);
    }

    boolean isComplete() {
        return status == ReplicaStatus.COMPLETE;
    }

    void complete() {
        status = ReplicaStatus.COMPLETE;
    }

    /** Back to being written, for an upsert in place. */
    void rewrite() {
        status = ReplicaStatus.PROCESSING;
    }

    ObjectEntry owner() {
        return owner;
    }

    void disown(final long restUntil) {
        owner = null;
        status = ReplicaStatus.REMOVED;
        restUntilMs = restUntil;
    }

    long restUntilMs() {
        return restUntilMs;
    }

    boolean isHeld() {
        return holds > 0;
    }

    void hold() {
        holds++;
    }

    void release() {
        if (holds == 0) {
            throw new IllegalStateException("replica " + id + " was released more often than it was held");
        }
        holds--;
    }

    boolean isOffloading() {
        return offloading;
    }

    /** Whether it goes when it has been copied down. */
    boolean isLeaving() {
        return offloading && !staying;
    }

    /** It is copied down from now on, perhaps without going for that. */
    void offloadStarted(final boolean stays) {
        offloading = true;
        staying = stays;
        usedWhileOffloading = false;
    }

    void offloadEnded() {
        offloading = false;
    }

    /** A use while it is being copied down saves it from being dropped right afterwards. */
    void used() {
        usedWhileOffloading = true;
    }

    /** Whether it was copied down, the last time that it was, without going for that. */
    boolean isStaying() {
        return staying;
    }

    /** Whether it stays in memory when it has been copied down. */
    boolean isKeptAfterOffload() {
        return staying || usedWhileOffloading;
    }

    boolean isRefusedByDisk() {
        return refusedByDisk;
    }

    void refuseByDisk() {
        refusedByDisk = true;
    }

    /** Whether its range is no longer its own: freed, or its segment is. */
    boolean isGone() {
        return gone;
    }

    void gone() {
        gone = true;
    }

    PlacedReplica sibling() {
        return sibling;
    }

    void sibling(final PlacedReplica replica) {
        sibling = replica;
    }

    PlacedReplica previousInSegment() {
        return previousInSegment;
    }

    void previousInSegment(final PlacedReplica replica) {
        previousInSegment = replica;
    }

    PlacedReplica nextInSegment() {
        return nextInSegment;
    }

    void nextInSegment(final PlacedReplica replica) {
        nextInSegment = replica;
    }
}
