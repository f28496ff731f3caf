package io.kvtier.store.master.state;

import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.MasterStats.Promoted;
import io.kvtier.store.protocol.MasterStats.Rejected;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Copies from disk to memory that are under way. Who started one holds its replica until it ends, whether the object is
 * still there or not; only that client, and only that replica, can end it. What lies in the shared files is held there
 * as long, so that it is not evicted while it is copied.
 */
final class Promotions {
    private final long releaseMs;
    private final Tiers tiers;
    private final Clients clients;
    private final Admission admission;
    private final HotValues hot;
    /** By replica, in the order of their start. */
    private final Map<Long, Promotion> active = new LinkedHashMap<>();

    private long admitted;
    private long completedBytes;
    private long failed;
    private long cancelled;
    private long expired;
    private long rejectedRoom;
    private long rejectedQuota;
    private long rejectedBusy;

    /** The source is null when it is not in the shared files. */
    private record Promotion(UUID clientId, PlacedReplica replica, PlacedReplica source, long startMs) {
    }

    Promotions(final long releaseMs, final Tiers tiers, final Clients clients, final Admission admission,
        final HotValues hot) {
        this.hot = hot;
        this.releaseMs = releaseMs;
        this.tiers = tiers;
        this.clients = clients;
        this.admission = admission;
    }

    PromotionReply start(final DiskCommand.PromotionStart start, final long nowMs) {
        hot.begun(start.key());
        final ObjectEntry entry = tiers.catalogue().find(start.key(), start.version());
        if (entry == null || !entry.isReadable() || entry.residency(Medium.MEMORY) != null
            || entry.promotion() != null || entry.pending() != null || entry.isReplicating()) {
            rejectedBusy++;
            return PromotionReply.DECLINED;
        }
        if (admission.admit(entry.key().tenant(), entry.record().size(), 0, nowMs) != Admission.Verdict.ADMITTED) {
            rejectedQuota++;
            return PromotionReply.DECLINED;
        }
        final List<PlacedReplica> placed = tiers.memory().place(new Placement.Wish(entry, entry.record().size(),
            Medium.MEMORY, List.of(), clients.host(start.clientId()), false), 1, nowMs);
        if (placed.isEmpty()) {
            rejectedRoom++;
            return PromotionReply.DECLINED;
        }
        final PlacedReplica replica = placed.getFirst();
        entry.promotion(replica);
        admitted++;
        final Residency shared = entry.residency(Medium.DISTRIBUTED_DISK);
        final PlacedReplica source = shared == null ? null : shared.first();
        if (source != null) {
            tiers.pages().hold(source);
        }
        active.put(replica.id(), new Promotion(clients.shared(start.clientId()), replica, source, nowMs));
        return new PromotionReply(replica.id(), replica.memory());
    }

    Ack end(final DiskCommand.PromotionEnd end, final long nowMs) {
        final Promotion promotion = active.get(end.replicaId());
        if (promotion == null || !promotion.clientId().equals(end.clientId())) {
            return Ack.STALE;
        }
        settle(promotion, nowMs);
        final PlacedReplica replica = promotion.replica();
        final ObjectEntry entry = replica.owner();
        final long restUntilMs = end.success() || end.settled() ? 0 : restUntilMs(promotion);
        if (entry == null) {
            cancelled++;
            giveUp(promotion, restUntilMs, nowMs);
            return Ack.STALE;
        }
        if (end.success()) {
            completedBytes += replica.size();
            entry.promotion(null);
            tiers.disk().promoted();
            tiers.memory().completed(replica, nowMs);
        } else {
            failed++;
            giveUp(promotion, restUntilMs, nowMs);
        }
        return Ack.OK;
    }

    /** The object goes; whoever fills the replica does so until he ends the promotion. */
    void cancel(final ObjectEntry entry, final long nowMs) {
        final PlacedReplica replica = entry.promotion();
        if (replica != null) {
            entry.promotion(null);
            tiers.memory().drop(replica, nowMs);
        }
    }

    /** The replica lies in a segment that is gone. */
    void lost(final PlacedReplica replica, final long nowMs) {
        final ObjectEntry entry = replica.owner();
        settle(active.get(replica.id()), nowMs);
        cancelled++;
        entry.promotion(null);
        tiers.memory().lose(replica, nowMs);
        tiers.memory().release(replica, nowMs);
    }

    /** A client is gone: it fills nothing any more. */
    void clientGone(final UUID clientId, final long nowMs) {
        for (final Promotion promotion : List.copyOf(active.values())) {
            if (promotion.clientId().equals(clientId)) {
                settle(promotion, nowMs);
                cancelled++;
                giveUp(promotion, restUntilMs(promotion), nowMs);
            }
        }
    }

    void expire(final long nowMs) {
        while (!active.isEmpty()) {
            final Promotion oldest = active.values().iterator().next();
            if (nowMs - oldest.startMs() < releaseMs) {
                return;
            }
            settle(oldest, nowMs);
            expired++;
            giveUp(oldest, 0, nowMs);
        }
    }

    /** The one way out of those that are under way. */
    private void settle(final Promotion promotion, final long nowMs) {
        active.remove(promotion.replica().id());
        if (promotion.source() != null) {
            tiers.pages().release(promotion.source(), nowMs);
        }
    }

    /** A client that is only thought dead, or who lends the memory and was sent the bytes, may write until then. */
    private long restUntilMs(final Promotion promotion) {
        return releaseMs > Long.MAX_VALUE - promotion.startMs() ? Long.MAX_VALUE : promotion.startMs() + releaseMs;
    }

    private void giveUp(final Promotion promotion, final long restUntilMs, final long nowMs) {
        final PlacedReplica replica = promotion.replica();
        final ObjectEntry entry = replica.owner();
        if (entry == null) {
            // The object went before, and then nothing had to rest: whoever filled the replica held it.
            replica.disown(restUntilMs);
        } else {
            entry.promotion(null);
            tiers.memory().drop(replica, restUntilMs, nowMs);
        }
        tiers.memory().release(replica, nowMs);
    }

    long active() {
        return active.size();
    }

    Promoted counted() {
        return new Promoted(admitted, completedBytes, failed, cancelled, expired,
            new Rejected(rejectedRoom, rejectedQuota, rejectedBusy));
    }
}
