package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.GdsCommand.AdoptGdsReplicas;
import io.kvtier.store.protocol.GdsCommand.GdsDrop;
import io.kvtier.store.protocol.GdsCommand.GdsDrops;
import io.kvtier.store.protocol.GdsCommand.GdsRoomReply;
import io.kvtier.store.protocol.GdsCommand.GdsValue;
import io.kvtier.store.protocol.GdsCommand.Settlement;
import io.kvtier.store.protocol.GdsCommand.UnsettledExtent;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** What the owners of files for GDS replicas say and ask, beside the puts. */
final class GdsCommands {
    private final Tiers tiers;
    private final Clients clients;
    private final Writes writes;
    private final Removals removals;

    GdsCommands(final Tiers tiers, final Clients clients, final Writes writes, final Removals removals) {
        this.tiers = tiers;
        this.clients = clients;
        this.writes = writes;
        this.removals = removals;
    }

    Object apply(final GdsCommand<?> command, final long nowMs) {
        return switch (command) {
            case GdsCommand.RegisterGdsStorage register -> register(register, nowMs);
            case GdsCommand.UnregisterGdsStorage gone -> unregister(gone);
            case AdoptGdsReplicas adopt -> adopt(adopt, nowMs);
            case GdsCommand.SettleGdsExtents settle -> settle(settle, nowMs);
            case GdsCommand.MakeGdsRoom room -> makeRoom(required(room.clientId()), room.bytes(), nowMs);
            case GdsCommand.FetchGdsDrops fetch -> fetchDrops(fetch);
            case GdsCommand.GdsStorages ignored -> tiers.gds().list();
            case GdsCommand.ReportGdsWork report -> report(report);
        };
    }

    private Ack register(final GdsCommand.RegisterGdsStorage register, final long nowMs) {
        clients.checkLender(register.clientId());
        checkLatest(register.clientId(), register.storage().storageId());
        tiers.gds().register(register.clientId(), clients.host(register.clientId()), register.storage());
        clients.appeared(register.clientId(), nowMs);
        return Ack.OK;
    }

    /**
     * A file is locked by the process that has it open, and a process pings before it opens one: whoever pinged first
     * last has it. What an earlier one has sent may come late, and nobody would tell the one that has the file.
     */
    private void checkLatest(final UUID clientId, final UUID storageId) {
        final UUID holder = tiers.gds().ownerOf(storageId);
        if (holder != null && !holder.equals(clientId) && clients.isBefore(clientId, holder)) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "GDS storage " + storageId
                + " is that of client " + holder + ", which came after client " + clientId + " and has its file open; "
                + "close that one, and open the file again");
        }
    }

    private Ack unregister(final GdsCommand.UnregisterGdsStorage gone) {
        return tiers.gds().has(gone.clientId(), gone.storageId(), gone.generation())
            && tiers.gds().remove(gone.clientId()) ? Ack.OK : Ack.STALE;
    }

    private Ack report(final GdsCommand.ReportGdsWork report) {
        return tiers.gds().has(report.clientId(), report.storageId(), report.generation())
            && tiers.gds().find(report.clientId()).account().report(report.run(), report.work(), report.state())
            ? Ack.OK : Ack.STALE;
    }

    private GdsStorage required(final UUID clientId) {
        final GdsStorage storage = tiers.gds().find(clientId);
        if (storage == null) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "client " + clientId
                + " has no GDS storage registered; register it first");
        }
        return storage;
    }

    private static GdsRoomReply makeRoom(final GdsStorage storage, final long bytes, final long nowMs) {
        final SpaceTier tier = storage.tier();
        final long evicted = tier.evictBytes(bytes, nowMs);
        final long leaseEndMs = tier.nextLeaseEndMs();
        final boolean leased = leaseEndMs != Long.MAX_VALUE;
        return new GdsRoomReply(evicted, leased || tier.mayComeFree(), leased ? Math.max(1, leaseEndMs - nowMs) : 0);
    }

    private GdsDrops fetchDrops(final GdsCommand.FetchGdsDrops fetch) {
        final GdsStorage storage = tiers.gds().find(fetch.clientId());
        if (storage == null) {
            return new GdsDrops(List.of(), fetch.done());
        }
        final List<GdsDrop> named = new ArrayList<>();
        final long last = storage.drops().next(fetch.max(), fetch.done(), named);
        return new GdsDrops(named, last);
    }

    private List<Long> adopt(final AdoptGdsReplicas adopt, final long nowMs) {
        final GdsStorage storage = required(adopt.clientId());
        tiers.disk().look();
        final List<Long> ids = new ArrayList<>(adopt.values().size());
        for (final GdsValue value : adopt.values()) {
            final long id = adoptOne(adopt.clientId(), storage, value, nowMs);
            storage.offered(id != AdoptGdsReplicas.REFUSED);
            ids.add(id);
        }
        return ids;
    }

    private long adoptOne(final UUID clientId, final GdsStorage storage, final GdsValue value, final long nowMs) {
        if (!storage.is(value.extent().storageId(), value.extent().generation())
            || GdsStorages.problemOf(storage, value.size(), value.extent()) != null) {
            return AdoptGdsReplicas.REFUSED;
        }
        final PlacedReplica there = storage.at(value.extent().offset());
        if (there != null) {
            return isThat(there, value) ? there.id() : AdoptGdsReplicas.REFUSED;
        }
        final DiskReplicas.Offer offer = new DiskReplicas.Offer(clientId, value.key(), value.version(), value.size(),
            value.checksummed(), value.checksum());
        removals.makeWay(offer, nowMs);
        ObjectEntry entry = tiers.disk().entryFor(offer);
        if (entry != null && loseGone(entry, nowMs)) {
            // It may have gone with that.
            entry = tiers.disk().entryFor(offer);
        }
        if (entry == null) {
            return AdoptGdsReplicas.REFUSED;
        }
        final PlacedReplica replica = entry.residency(Medium.GDS) != null ? null
            : storage.markAgain(tiers.catalogue().nextReplicaId(), entry, value.size(), value.extent());
        if (replica == null) {
            tiers.catalogue().removeIfEmpty(entry);
            return AdoptGdsReplicas.REFUSED;
        }
        storage.tier().marked(replica, nowMs);
        storage.tier().completed(replica, nowMs);
        return replica.id();
    }

    /** Whether a replica is the very value that is offered, complete and known to be there. */
    private static boolean isThat(final PlacedReplica replica, final GdsValue value) {
        final ObjectEntry entry = replica.owner();
        return entry != null && replica.isComplete() && entry.key().equals(value.key())
            && entry.record().version() == value.version() && replica.size() == value.size();
    }

    /** What an object has in a file that is just being swept goes now: its owner offers it anew. */
    private boolean loseGone(final ObjectEntry entry, final long nowMs) {
        final Residency file = entry.residency(Medium.GDS);
        if (file == null || file.isReadable()) {
            return false;
        }
        tiers.of(file.first()).lose(file.first(), nowMs);
        return true;
    }

    private List<Settlement> settle(final GdsCommand.SettleGdsExtents settle, final long nowMs) {
        final List<Settlement> settled = new ArrayList<>(settle.extents().size());
        for (final UnsettledExtent one : settle.extents()) {
            settled.add(settleOne(settle.clientId(), one, nowMs));
        }
        return settled;
    }

    private Settlement settleOne(final UUID clientId, final UnsettledExtent one, final long nowMs) {
        if (!tiers.gds().has(clientId, one.extent().storageId(), one.extent().generation())) {
            return Settlement.FREE;
        }
        final GdsStorage storage = tiers.gds().find(clientId);
        storage.asked();
        final PlacedReplica replica = storage.at(one.extent().offset());
        if (replica == null) {
            return Settlement.FREE;
        }
        final ObjectEntry entry = replica.owner();
        if (entry != null && !entry.key().equals(one.key())) {
            // The owner has freed it and used it again since: what lies there now is not what it asks about.
            return Settlement.FREE;
        }
        if (entry != null && replica.isComplete()) {
            return new Settlement(replica.id(), entry.record().version());
        }
        if (entry != null && one.replicaId() != 0 && one.replicaId() != replica.id()) {
            // So it has, for the same key: a put that is under way is not ended by a question that came late.
            return Settlement.FREE;
        }
        if (entry != null) {
            writes.giveUp(entry, replica, nowMs);
        }
        return new Settlement(replica.id(), 0);
    }
}
