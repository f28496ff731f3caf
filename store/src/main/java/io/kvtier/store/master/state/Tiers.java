package io.kvtier.store.master.state;

import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.replica.Replica;
import java.util.List;

/** The owners of what an object can have, for those that deal with whole objects. */
record Tiers(ObjectCatalogue catalogue, Segments segments, SpaceTier memory, SpaceTier nof, DiskReplicas disk,
             SoftPins pins) {
    SpaceTier of(final Medium medium) {
        return medium == Medium.MEMORY ? memory : nof;
    }

    SpaceTier of(final PlacedReplica replica) {
        return of(replica.segment().medium());
    }

    void used(final ObjectEntry entry, final long nowMs) {
        memory.used(entry, nowMs);
        nof.used(entry, nowMs);
    }

    void pinChanged(final ObjectEntry entry, final long nowMs) {
        memory.pinChanged(entry, nowMs);
        nof.pinChanged(entry, nowMs);
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

    private PlacedReplica find(final ObjectEntry entry, final long replicaId) {
        for (final Medium medium : Medium.values()) {
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
        entry.replace(entry.record().withReplicas(List.of()));
        for (final Medium medium : Medium.values()) {
            while (entry.residency(medium) != null) {
                of(medium).dropLeased(entry.residency(medium).first(), nowMs);
            }
        }
    }
}
