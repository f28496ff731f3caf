package io.kvtier.store.master.state;

import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.replica.Replica;
import java.util.List;

/** The owners of what an object can have, for those that deal with whole objects. */
record Tiers(ObjectCatalogue catalogue, Segments segments, SpaceTier memory, SpaceTier nof, GdsStorages gds,
             SpaceTier pages, DiskReplicas disk, SoftPins pins) {
    private static final Medium[] MEDIA = Medium.values();

    SpaceTier of(final PlacedReplica replica) {
        return switch (replica.segment().medium()) {
            case MEMORY -> memory;
            case NOF -> nof;
            case GDS -> replica.segment().gds().tier();
            case DISTRIBUTED_DISK -> pages;
        };
    }

    /** The tier of an object's file, where it has a replica in one; null elsewhere. */
    private SpaceTier fileOf(final ObjectEntry entry) {
        final Residency file = entry.hasOthers() ? entry.residency(Medium.GDS) : null;
        return file == null ? null : of(file.first());
    }

    void used(final ObjectEntry entry, final long nowMs) {
        memory.used(entry, nowMs);
        if (entry.hasOthers()) {
            nof.used(entry, nowMs);
            pages.used(entry, nowMs);
            final SpaceTier file = fileOf(entry);
            if (file != null) {
                file.used(entry, nowMs);
            }
        }
    }

    /** Keeps an object from being evicted while room is made for what takes its place. */
    void shield(final ObjectEntry entry) {
        memory.shield(entry);
        nof.shield(entry);
        pages.shield(entry);
        final SpaceTier file = fileOf(entry);
        if (file != null) {
            file.shield(entry);
        }
    }

    void unshield(final ObjectEntry entry, final long nowMs) {
        memory.unshield(entry, nowMs);
        nof.unshield(entry, nowMs);
        pages.unshield(entry, nowMs);
        final SpaceTier file = fileOf(entry);
        if (file != null) {
            file.unshield(entry, nowMs);
        }
    }

    void pinChanged(final ObjectEntry entry, final long nowMs) {
        memory.pinChanged(entry, nowMs);
        nof.pinChanged(entry, nowMs);
        pages.pinChanged(entry, nowMs);
        final SpaceTier file = fileOf(entry);
        if (file != null) {
            file.pinChanged(entry, nowMs);
        }
    }

    /** Whether an object has a replica that can be read: complete, and neither its segment nor its disk is gone. */
    boolean isReadable(final ObjectEntry entry) {
        if (!entry.isReadable()) {
            return false;
        }
        if (!segments.hasDying() && !disk.hasGone()) {
            return true;
        }
        for (int i = 0; i < entry.record().replicas().size(); i++) {
            if (isThere(entry, i)) {
                return true;
            }
        }
        return false;
    }

    /** Whether a replica of an object's record can be read. */
    boolean isThere(final ObjectEntry entry, final int index) {
        final Replica replica = entry.record().replicas().get(index);
        if (disk.isGone(replica)) {
            return false;
        }
        final PlacedReplica placed = find(entry, replica.id());
        return placed == null || placed.segment().isReadable();
    }

    /** A complete replica of an object in a segment or file, by its id; null when there is none. */
    PlacedReplica find(final ObjectEntry entry, final long replicaId) {
        for (final Medium medium : MEDIA) {
            final Residency residency = entry.residency(medium);
            final PlacedReplica found = residency == null ? null : residency.find(replicaId);
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    /**
     * Frees all complete replicas of an object's value; who has a lease on them may still read.
     *
     * @param told see {@link DiskReplicas#forget}.
     */
    void retire(final ObjectEntry entry, final boolean told, final long nowMs) {
        if (entry.record() == null) {
            return;
        }
        disk.forget(entry, told);
        catalogue.replace(entry, entry.record().withReplicas(List.of()));
        for (final Medium medium : MEDIA) {
            while (entry.residency(medium) != null) {
                final PlacedReplica replica = entry.residency(medium).first();
                of(replica).dropLeased(replica, nowMs);
            }
        }
    }
}
