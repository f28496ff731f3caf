package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.TaskCommand;
import io.kvtier.store.protocol.TaskCommand.Kind;
import io.kvtier.store.protocol.TaskCommand.ReplicationReply;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Copies and moves of memory replicas that are under way, at most one for each object.
 *
 * <p>Its source is held, so that it is not evicted; its targets belong to it until it ends. While it lasts the object
 * is neither removed nor replaced, and its entry stays even when nothing of the object is left: whoever started it
 * shall hear that the source is gone, and not that there never was a copy.
 */
final class Replications {
    private final MasterSettings.Liveness liveness;
    private final Tiers tiers;
    private final Clients clients;
    private final Admission admission;
    /** In the order of their start. */
    private final Map<ObjectKey, Replication> active = new LinkedHashMap<>();

    Replications(final MasterSettings.Liveness liveness, final Tiers tiers, final Clients clients,
        final Admission admission) {
        this.liveness = liveness;
        this.tiers = tiers;
        this.clients = clients;
        this.admission = admission;
    }

    ReplicationReply start(final TaskCommand.ReplicationStart start, final long nowMs) {
        checkNames(start.kind(), start.source(), start.targets());
        start.targets().forEach(name -> checkOpen(name, nowMs));
        final ObjectEntry entry = object(start.key());
        if (entry.isReplicating()) {
            throw new StoreException(ErrorCode.OBJECT_HAS_REPLICATION_TASK, "object " + start.key()
                + " is being copied or moved already; try again when that has ended");
        }
        if (entry.isReadable() && entry.pending() != null) {
            throw new StoreException(ErrorCode.REPLICA_IS_NOT_READY, "object " + start.key()
                + " is being replaced; try again when that has ended");
        }
        final PlacedReplica source = source(entry, start.source());
        final List<String> names = new ArrayList<>(new LinkedHashSet<>(start.targets()));
        names.removeIf(name -> in(entry, name) != null);
        // What is held is not evicted to make room for its own copy.
        tiers.memory().hold(source);
        final List<PlacedReplica> targets = new ArrayList<>(names.size());
        try {
            place(entry, names, targets, nowMs);
        } catch (final StoreException e) {
            tiers.memory().takeBack(targets, nowMs);
            tiers.memory().release(source, nowMs);
            throw e;
        }
        final PlacedReplica existing = start.kind() == Kind.MOVE && targets.isEmpty()
            ? in(entry, start.targets().getFirst()) : null;
        final Replication replication = new Replication(clients.shared(start.clientId()), entry, start.kind(), source,
            targets, existing, nowMs);
        entry.replication(replication);
        active.put(entry.key(), replication);
        return new ReplicationReply(entry.record().size(), source.view(), replication.view());
    }

    /** The client that can carry a copy or move out: the one whose segment the source is in. */
    UUID carrier(final TaskCommand.CreateTask task) {
        checkNames(task.kind(), task.source(), task.targets());
        task.targets().forEach(this::named);
        return source(object(task.key()), task.source()).segment().clientId();
    }

    private static void checkNames(final Kind kind, final String source, final List<String> targets) {
        if (targets.isEmpty() || kind == Kind.MOVE && targets.size() != 1) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "a " + kind + " to " + targets.size()
                + " segments; a move has one target, a copy one or more");
        }
        if (kind == Kind.MOVE && targets.contains(source)) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "segment '" + source
                + "' is both source and target of a move");
        }
    }

    private List<LentSegment> named(final String name) {
        final List<LentSegment> segments = tiers.segments().named(name, Medium.MEMORY);
        if (segments.isEmpty()) {
            throw new StoreException(ErrorCode.SEGMENT_NOT_FOUND, "no memory segment '" + name + "' is mounted");
        }
        return segments;
    }

    private void checkOpen(final String name, final long nowMs) {
        final List<LentSegment> segments = named(name);
        if (segments.stream().noneMatch(segment -> segment.isOpen(nowMs))) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "segment '" + name + "' is "
                + segments.getFirst().status() + " and takes nothing new now");
        }
    }

    /** An object that is there, perhaps not yet or no longer readable. */
    private ObjectEntry object(final ObjectKey key) {
        final ObjectEntry entry = tiers.catalogue().find(key);
        if (entry == null || !tiers.isReadable(entry) && entry.pending() == null && !entry.isReplicating()) {
            throw new StoreException(ErrorCode.OBJECT_NOT_FOUND, "there is no object " + key);
        }
        return entry;
    }

    private static PlacedReplica source(final ObjectEntry entry, final String name) {
        final PlacedReplica source = in(entry, name);
        if (source == null) {
            throw new StoreException(ErrorCode.REPLICA_NOT_FOUND, "object " + entry.key()
                + " has no complete replica in memory segment '" + name + "'");
        }
        return source;
    }

    /** The readable replica of an object in a segment of that name, or null. */
    private static PlacedReplica in(final ObjectEntry entry, final String name) {
        final Residency memory = entry.residency(Medium.MEMORY);
        PlacedReplica replica = memory == null ? null : memory.first();
        while (replica != null && !(replica.segment().name().equals(name) && replica.segment().isReadable())) {
            replica = replica.sibling();
        }
        return replica;
    }

    private void place(final ObjectEntry entry, final List<String> names, final List<PlacedReplica> placed,
        final long nowMs) {
        final String tenant = entry.key().tenant();
        final long bytes = Admission.bytes(entry.record().size(), names.size());
        final Admission.Verdict verdict = admission.admit(tenant, bytes, 0, nowMs);
        if (verdict == Admission.Verdict.REFUSED) {
            throw admission.refusal(tenant, bytes);
        }
        for (final String name : names) {
            final List<PlacedReplica> one = verdict == Admission.Verdict.LATER ? List.of() : tiers.memory().place(
                new Placement.Wish(entry, entry.record().size(), Medium.MEMORY, List.of(name), "", true), 1, nowMs);
            if (one.isEmpty()) {
                throw new StoreException(ErrorCode.NO_AVAILABLE_HANDLE, "no room for the " + entry.record().size()
                    + " bytes of object " + entry.key() + " in segment '" + name + "' now");
            }
            placed.addAll(one);
        }
    }

    /** Ends a replication; it is over even when it is refused with REPLICA_IS_GONE. */
    Ack end(final TaskCommand.ReplicationEnd end, final long nowMs) {
        final Replication replication = active.get(end.key());
        if (replication == null) {
            throw new StoreException(ErrorCode.OBJECT_NO_REPLICATION_TASK, "object " + end.key()
                + " is not being copied or moved; it may have taken too long");
        }
        if (!replication.clientId().equals(end.clientId())) {
            throw new StoreException(ErrorCode.ILLEGAL_CLIENT, "the " + replication.kind() + " of " + end.key()
                + " was started by client " + replication.clientId() + ", not by " + end.clientId());
        }
        if (replication.kind() != end.kind()) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "the " + replication.kind() + " of " + end.key()
                + " cannot be ended as a " + end.kind());
        }
        if (!end.success()) {
            giveUp(replication, end.settled() ? 0 : liveness.overMs(replication.startMs()), nowMs);
            return Ack.OK;
        }
        if (!replication.isIntact()) {
            giveUp(replication, 0, nowMs);
            throw new StoreException(ErrorCode.REPLICA_IS_GONE, "the source or a target of the " + replication.kind()
                + " of " + end.key() + " went with its segment");
        }
        complete(replication, nowMs);
        return Ack.OK;
    }

    private void complete(final Replication replication, final long nowMs) {
        replication.targets().forEach(target -> tiers.memory().completed(target, nowMs));
        if (replication.kind() == Kind.MOVE) {
            tiers.memory().dropLeased(replication.source(), nowMs);
        }
        settle(replication, nowMs);
    }

    private void giveUp(final Replication replication, final long restUntilMs, final long nowMs) {
        for (final PlacedReplica target : replication.targets()) {
            tiers.memory().drop(target, restUntilMs, nowMs);
            tiers.memory().release(target, nowMs);
        }
        settle(replication, nowMs);
    }

    /** The one way out. */
    private void settle(final Replication replication, final long nowMs) {
        final ObjectEntry entry = replication.entry();
        active.remove(entry.key());
        entry.replication(null);
        tiers.memory().release(replication.source(), nowMs);
        tiers.catalogue().removeIfEmpty(entry);
    }

    /** A replica that is being filled lies in a segment that is gone. */
    void lost(final PlacedReplica target, final long nowMs) {
        target.owner().replication().lose(target);
        tiers.memory().lose(target, nowMs);
        tiers.memory().release(target, nowMs);
    }

    /** A client is gone: it copies nothing any more. One that is only thought dead may write until its time is over. */
    void clientGone(final UUID clientId, final long nowMs) {
        for (final Replication replication : List.copyOf(active.values())) {
            if (replication.clientId().equals(clientId)) {
                giveUp(replication, liveness.overMs(replication.startMs()), nowMs);
            }
        }
    }

    /** Gives up what has not ended in time. */
    void expire(final long nowMs) {
        while (!active.isEmpty()) {
            final Replication oldest = active.values().iterator().next();
            if (nowMs - oldest.startMs() < liveness.releaseMs()) {
                return;
            }
            giveUp(oldest, 0, nowMs);
        }
    }
}
