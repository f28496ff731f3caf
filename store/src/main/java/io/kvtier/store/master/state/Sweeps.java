package io.kvtier.store.master.state;

import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Takes what lies in segments and on disks that are gone out of the metadata, a part at a time: readers are not shown
 * it from the moment that the segment or disk went, so there is no hurry.
 */
final class Sweeps {
    /** Replicas that one part takes out, or objects that it looks at, more or less: about a millisecond. */
    private static final int PART = 4096;

    private final Tiers tiers;
    private final Writes writes;
    private final Promotions promotions;
    /** The disks that the walk over all objects is about, as they were when it began; empty when there is none. */
    private Map<UUID, Long> disks = Map.of();
    private int bucket;

    Sweeps(final Tiers tiers, final Writes writes, final Promotions promotions) {
        this.tiers = tiers;
        this.writes = writes;
        this.promotions = promotions;
    }

    /** Does a part of what is to be done; true when there is more. */
    boolean advance(final long nowMs) {
        sweepSegment(nowMs);
        sweepDisks();
        return tiers.segments().hasDying() || tiers.disk().hasGone();
    }

    private void sweepSegment(final long nowMs) {
        final LentSegment segment = tiers.segments().nextDying();
        if (segment == null) {
            return;
        }
        for (int i = 0; i < PART && segment.first() != null; i++) {
            sweep(segment.first(), nowMs);
        }
        if (segment.first() == null) {
            tiers.segments().swept(segment);
        }
    }

    private void sweep(final PlacedReplica replica, final long nowMs) {
        final ObjectEntry entry = replica.owner();
        if (entry == null) {
            replica.segment().detach(replica);
        } else if (replica.isComplete()) {
            tiers.of(replica).lose(replica, nowMs);
        } else if (entry.promotion() == replica) {
            promotions.lost(replica, nowMs);
        } else {
            writes.lost(replica, nowMs);
        }
    }

    private void sweepDisks() {
        if (disks.isEmpty()) {
            disks = tiers.disk().gone();
            bucket = 0;
        }
        int looked = 0;
        while (!disks.isEmpty() && looked < PART) {
            for (final ObjectEntry entry : List.copyOf(tiers.catalogue().bucket(bucket))) {
                tiers.disk().sweep(entry);
                looked++;
            }
            // An empty bucket costs something too.
            looked++;
            bucket++;
            if (bucket == ObjectCatalogue.BUCKETS) {
                tiers.disk().swept(disks);
                disks = Map.of();
            }
        }
    }
}
