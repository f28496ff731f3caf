package io.kvtier.store.master.state;

import io.kvtier.alloc.Units;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.SegmentSpec;
import io.kvtier.store.protocol.SegmentCommand.Status;
import io.kvtier.store.replica.SegmentAddress;
import java.util.UUID;

/**
 * A segment that a client lends: its allocator, and the list of what lies in it.
 *
 * <p>Every replica with a range here is in the list, whether it has an owner, is only held, or rests. So unmounting
 * finds what it must sweep without looking at any object of another segment.
 */
final class LentSegment {
    private final UUID clientId;
    private final String host;
    private final SegmentSpec spec;
    private final Ranges ranges;
    private long openFromMs;
    /** What its owner may bring back into it; null when that is no matter, or over by its word. */
    private AwayObjects.Segment former;
    private Status status = Status.OK;
    private long unmountAtMs = Long.MAX_VALUE;
    private int failedProbes;
    private PlacedReplica first;
    private long replicas;
    private long allocations;
    private long frees;
    private long resting;
    private GdsStorage gds;

    /** A segment in which nothing is allocated before {@code openFromMs}. */
    LentSegment(final UUID clientId, final String host, final SegmentSpec spec, final long openFromMs) {
        this(clientId, host, spec, openFromMs, new Ranges.Extents(spec.capacity(), spec.unit()));
    }

    private LentSegment(final UUID clientId, final String host, final SegmentSpec spec, final long openFromMs,
        final Ranges ranges) {
        this.clientId = clientId;
        this.host = host;
        this.spec = spec;
        this.openFromMs = openFromMs;
        this.ranges = ranges;
    }

    /** A file of pages, open at once. */
    static LentSegment ofPages(final UUID clientId, final SegmentSpec spec) {
        return new LentSegment(clientId, "", spec, 0, new Ranges.Pages(spec.capacity(), spec.unit()));
    }

    UUID id() {
        return spec.address().segmentId();
    }

    UUID clientId() {
        return clientId;
    }

    String host() {
        return host;
    }

    String name() {
        return spec.name();
    }

    Medium medium() {
        return spec.medium();
    }

    SegmentAddress address() {
        return spec.address();
    }

    SegmentSpec spec() {
        return spec;
    }

    Status status() {
        return status;
    }

    void status(final Status changed) {
        status = changed;
    }

    /** When its graceful unmounting ends; at the end of time when it has not begun. */
    long unmountAtMs() {
        return unmountAtMs;
    }

    void unmountAt(final long atMs) {
        unmountAtMs = Math.min(unmountAtMs, atMs);
    }

    /** Failed probes in a row, this one included when it is one. */
    int probed(final boolean healthy) {
        failedProbes = healthy ? 0 : failedProbes + 1;
        return failedProbes;
    }

    long openFromMs() {
        return openFromMs;
    }

    /** It rests as a whole until then. */
    void openFrom(final long atMs) {
        openFromMs = atMs;
    }

    /** What its owner may bring back into it, and copies there meanwhile; null when it does not. */
    AwayObjects.Segment former() {
        return former;
    }

    /** It is closed while this is not null, however long that takes. */
    void former(final AwayObjects.Segment lay) {
        former = lay;
    }

    boolean isOpen(final long nowMs) {
        return status == Status.OK && former == null && nowMs >= openFromMs;
    }

    /** Whether what lies in it may be read. */
    boolean isReadable() {
        return status != Status.UNMOUNTING;
    }

    /** Whether every client can read what lies in it. */
    boolean isForAll() {
        return gds == null || gds.isForAll();
    }

    long capacity() {
        return ranges.capacityBytes();
    }

    long used() {
        return ranges.allocatedBytes();
    }

    long replicas() {
        return replicas;
    }

    /** Takes note of bytes here that rest, or do no more. */
    void rests(final long more) {
        resting += more;
    }

    /** Bytes of ranges that will be free in time; a range has some. */
    long resting() {
        return resting;
    }

    boolean hasResting() {
        return resting > 0;
    }

    PlacedReplica first() {
        return first;
    }

    /** Bytes that a value takes here. A value of 0 bytes takes a unit, so that it is evicted one day. */
    long allocatedBytes(final long size) {
        return Units.taken(size, ranges.unitBytes());
    }

    /** Whether as much is free as a value takes, perhaps in pieces. */
    boolean hasRoom(final long size) {
        return allocatedBytes(size) <= capacity() - used();
    }

    /** A range for a value, or null when there is none. */
    PlacedReplica allocate(final long replicaId, final ObjectEntry owner, final long size) {
        if (!hasRoom(size)) {
            return null;
        }
        final long bytes = allocatedBytes(size);
        final long offset = ranges.allocate(bytes);
        if (offset == Ranges.NO_SPACE) {
            return null;
        }
        allocations++;
        return linked(new PlacedReplica(replicaId, owner, this, offset, size, bytes));
    }

    /** Takes note of a range that the segment's owner has allocated; null when something is known to lie there. */
    PlacedReplica mark(final long replicaId, final ObjectEntry owner, final long size, final long offset,
        final long bytes) {
        return reserve(offset, bytes) ? reserved(replicaId, owner, size, offset, bytes) : null;
    }

    /** Takes exactly this range, in which nothing lies yet; false when some of it is taken. */
    boolean reserve(final long offset, final long bytes) {
        return ranges.markAllocated(offset, bytes);
    }

    /** Gives a range back that was reserved and in which nothing was put. */
    void giveBack(final long offset, final long bytes) {
        if (!ranges.free(offset, bytes)) {
            throw new IllegalStateException("segment " + id() + " has no range reserved at offset " + offset);
        }
    }

    /** Puts something into a range that was reserved. */
    PlacedReplica reserved(final long replicaId, final ObjectEntry owner, final long size, final long offset,
        final long bytes) {
        return linked(new PlacedReplica(replicaId, owner, this, offset, size, bytes));
    }

    private PlacedReplica linked(final PlacedReplica replica) {
        replica.nextInSegment(first);
        if (first != null) {
            first.previousInSegment(replica);
        }
        first = replica;
        replicas++;
        return replica;
    }

    /** Gives a range back. */
    void free(final PlacedReplica replica) {
        if (!ranges.free(replica.offset(), replica.allocated())) {
            throw new IllegalStateException("segment " + id() + " does not know the range of replica " + replica.id()
                + " at offset " + replica.offset());
        }
        frees++;
        detach(replica);
    }

    /** Ranges that were allocated here since it was mounted, without those that were marked. */
    long allocations() {
        return allocations;
    }

    /** Ranges that were freed. */
    long frees() {
        return frees;
    }

    /** Takes a replica off the list; a range that has not been freed stays allocated until the segment is closed. */
    void detach(final PlacedReplica replica) {
        replica.gone();
        if (replica.previousInSegment() == null) {
            first = replica.nextInSegment();
        } else {
            replica.previousInSegment().nextInSegment(replica.nextInSegment());
        }
        if (replica.nextInSegment() != null) {
            replica.nextInSegment().previousInSegment(replica.previousInSegment());
        }
        replica.previousInSegment(null);
        replica.nextInSegment(null);
        replicas--;
    }

    /** What the segment is besides when it is a client's own file; null for memory and block devices. */
    GdsStorage gds() {
        return gds;
    }

    void gds(final GdsStorage storage) {
        gds = storage;
    }

    void close() {
        ranges.close();
    }
}
