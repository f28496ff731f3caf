package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.FindReply;
import io.kvtier.store.protocol.ObjectCommand.RemoveMatchingReply;
import io.kvtier.store.protocol.ObjectCommand.RemoveReply;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import java.util.ArrayList;
import java.util.List;

/** Removal of objects, one by one, by pattern, and of single replicas by their writer. */
final class Removals {
    private final Tiers tiers;
    private final Promotions promotions;

    Removals(final Tiers tiers, final Promotions promotions) {
        this.tiers = tiers;
        this.promotions = promotions;
    }

    RemoveReply remove(final ObjectCommand.Remove remove, final long nowMs) {
        final ObjectEntry entry = tiers.catalogue().find(remove.key());
        if (entry == null || entry.pending() == null && !tiers.isReadable(entry)) {
            if (entry != null) {
                eraseUnreadable(entry, nowMs);
            }
            tiers.disk().forbid(remove.key());
            return new RemoveReply(RemoveOutcome.NOT_FOUND, 0);
        }
        final RemoveOutcome obstacle = obstacle(entry, remove.force(), nowMs);
        if (obstacle != null) {
            return new RemoveReply(obstacle, 0);
        }
        if (entry.isReplicating()) {
            final boolean writing = !entry.replication().targets().isEmpty();
            throw new StoreException(writing ? ErrorCode.REPLICA_IS_NOT_READY
                : ErrorCode.OBJECT_HAS_REPLICATION_TASK, "object " + remove.key()
                + " is being copied or moved; try again when that has ended");
        }
        final long version = entry.record().version();
        erase(entry, true, nowMs);
        return new RemoveReply(RemoveOutcome.REMOVED, version);
    }

    RemoveMatchingReply removeMatching(final ObjectCommand.RemoveMatching remove, final long nowMs) {
        final KeyPattern pattern = KeyPattern.of(remove.pattern());
        int bucket = bucket(remove.cursor());
        int looked = 0;
        final List<ObjectEntry> matching = new ArrayList<>();
        while (bucket < ObjectCatalogue.BUCKETS && looked < Reads.SCAN_OBJECTS
            && !pattern.isUsedUp()) {
            for (final ObjectEntry entry : tiers.catalogue().bucket(bucket)) {
                looked++;
                if (matches(entry, remove.tenant(), pattern)) {
                    matching.add(entry);
                }
            }
            bucket++;
        }
        // Nothing is removed before the whole part is known not to be refused.
        if (remove.cursor() == 0) {
            tiers.disk().forbid(remove.tenant(), remove.pattern());
        }
        long removed = 0;
        for (final ObjectEntry entry : matching) {
            if (!tiers.isReadable(entry)) {
                eraseUnreadable(entry, nowMs);
            } else if (!entry.isReplicating() && obstacle(entry, remove.force(), nowMs) == null) {
                erase(entry, false, nowMs);
                removed++;
            }
        }
        return new RemoveMatchingReply(removed, bucket == ObjectCatalogue.BUCKETS ? FindReply.END : bucket);
    }

    List<ObjectKey> clear(final ObjectCommand.ReplicaClear clear, final long nowMs) {
        final List<ObjectKey> cleared = new ArrayList<>();
        for (final ObjectKey key : clear.keys()) {
            final ObjectEntry entry = tiers.catalogue().find(key);
            if (entry == null || !entry.isReadable() || entry.isReplicating()
                || !entry.record().writer().equals(clear.clientId()) || obstacle(entry, false, nowMs) != null) {
                continue;
            }
            if (clear.segment().isEmpty()) {
                erase(entry, false, nowMs);
                cleared.add(key);
            } else if (clearSegment(entry, clear.segment(), nowMs)) {
                cleared.add(key);
            }
        }
        return cleared;
    }

    private boolean clearSegment(final ObjectEntry entry, final String segment, final long nowMs) {
        boolean dropped = false;
        for (final Medium medium : Medium.values()) {
            final Residency residency = entry.residency(medium);
            PlacedReplica replica = residency == null ? null : residency.first();
            while (replica != null) {
                final PlacedReplica next = replica.sibling();
                if (replica.segment().name().equals(segment)) {
                    tiers.of(replica).dropLeased(replica, nowMs);
                    dropped = true;
                }
                replica = next;
            }
        }
        return dropped;
    }

    /**
     * A value that was found where it was kept may be newer than the one that its key has from earlier times, out of
     * another store that came back first or a snapshot: that goes then, so that it does not matter in which order
     * stores come back. While something is written or copied it stays, and the newer one is refused.
     */
    void makeWay(final DiskReplicas.Offer offer, final long nowMs) {
        final ObjectEntry known = tiers.catalogue().find(offer.key());
        if (known != null && known.pending() == null && !known.isReplicating() && tiers.disk().isNewer(offer, known)) {
            drop(known, false, nowMs);
        }
    }

    private static RemoveOutcome obstacle(final ObjectEntry entry, final boolean force, final long nowMs) {
        if (entry.pending() != null || !entry.isReadable()) {
            return RemoveOutcome.BEING_WRITTEN;
        }
        return !force && entry.isLeased(nowMs) ? RemoveOutcome.LEASED : null;
    }

    /** What cannot be read (any more) must not be again: by a promotion that is under way, or by what a disk offers. */
    private void eraseUnreadable(final ObjectEntry entry, final long nowMs) {
        if (entry.pending() == null && !entry.isReplicating()) {
            erase(entry, false, nowMs);
        }
    }

    private void erase(final ObjectEntry entry, final boolean told, final long nowMs) {
        // Not only up to its version: to a master that was started anew a later one may not have come back yet.
        tiers.disk().forbid(entry.key());
        drop(entry, told, nowMs);
    }

    private void drop(final ObjectEntry entry, final boolean told, final long nowMs) {
        promotions.cancel(entry, nowMs);
        tiers.retire(entry, told, nowMs);
        tiers.catalogue().remove(entry);
    }

    /** Whether an object is one of a tenant (empty for any) whose key has a match. */
    static boolean matches(final ObjectEntry entry, final String tenant, final KeyPattern pattern) {
        return (tenant.isEmpty() || tenant.equals(entry.key().tenant())) && pattern.isIn(entry.key().key());
    }

    /** Where a scan goes on. */
    static int bucket(final long cursor) {
        if (cursor < 0 || cursor >= ObjectCatalogue.BUCKETS) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "cursor " + cursor + " is not one that a scan gave");
        }
        return (int) cursor;
    }
}
