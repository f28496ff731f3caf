package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.MasterStats.Allocations;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Puts from start to end. A put owns its replicas until it has ended; a value that it replaces stays readable until
 * then, except where it is overwritten in place.
 */
final class Writes {
    private final MasterSettings settings;
    private final Tiers tiers;
    private final Clients clients;
    private final Admission admission;
    private final KeyFileWrites keyFiles;
    /** In the order of their start. */
    private final Map<Long, PendingWrite> pending = new LinkedHashMap<>();
    private long discarded;
    /** Of the values of discarded writes whose writers may still be at it. */
    private long staleBytes;
    private long released;
    private long unplaced;
    private long partlyPlaced;

    Writes(final MasterSettings settings, final Tiers tiers, final Clients clients, final Admission admission,
        final KeyFileWrites keyFiles) {
        this.keyFiles = keyFiles;
        this.settings = settings;
        this.tiers = tiers;
        this.clients = clients;
        this.admission = admission;
    }

    PutStartReply start(final ObjectCommand.PutStart put, final long nowMs) {
        check(put);
        final ObjectEntry known = tiers.catalogue().find(put.key());
        final PutStartReply taken = known == null ? null : taken(known, put, tiers.isReadable(known), nowMs);
        if (taken != null) {
            return taken;
        }
        final long largest = largest(put.options());
        if (put.size() > largest) {
            return new PutStartReply.TooLarge(largest);
        }
        if (known == null) {
            return admit(null, put, nowMs);
        }
        tiers.shield(known);
        try {
            return admit(known, put, nowMs);
        } finally {
            tiers.unshield(known, nowMs);
        }
    }

    /** Looks for room in the tenant's quota; up to here nothing has changed, so that the put may be refused. */
    private PutStartReply admit(final ObjectEntry known, final ObjectCommand.PutStart put, final long nowMs) {
        if (known != null && fitsInPlace(known, put, nowMs)) {
            makeWay(known, nowMs);
            return overwrite(known, put, nowMs);
        }
        final String tenant = put.key().tenant();
        final long bytes = Admission.bytes(put.size(), put.options().replicas());
        final Admission.Verdict verdict = admission.admit(tenant, bytes, unfinishedBytes(known), nowMs);
        if (verdict == Admission.Verdict.REFUSED) {
            throw admission.refusal(tenant, bytes);
        }
        if (verdict == Admission.Verdict.LATER) {
            return new PutStartReply.NoSpace(true);
        }
        return allocate(known, put, nowMs);
    }

    /** Bytes of memory that an unfinished write gives up when another one takes its place. */
    private static long unfinishedBytes(final ObjectEntry entry) {
        return entry == null || entry.pending() == null ? 0 : entry.pending().bytes(Medium.MEMORY);
    }

    /** Allocates room; only a put that starts ends what it takes the place of. */
    private PutStartReply allocate(final ObjectEntry known, final ObjectCommand.PutStart put, final long nowMs) {
        final boolean replaces = known != null && tiers.isReadable(known);
        final ObjectEntry entry = replaces ? known : new ObjectEntry(put.key());
        final List<PlacedReplica> placed = place(entry, put, nowMs);
        if (placed.isEmpty()) {
            unplaced++;
            return new PutStartReply.NoSpace(tiers.memory().mayComeFree() || tiers.nof().mayComeFree());
        }
        if (placed.size() < put.options().replicas() + put.options().nofReplicas()) {
            partlyPlaced++;
        }
        return started(known, entry, put, placed, nowMs);
    }

    /** Room is there: whatever the put takes the place of ends. */
    private PutStartReply started(final ObjectEntry known, final ObjectEntry entry, final ObjectCommand.PutStart put,
        final List<PlacedReplica> placed, final long nowMs) {
        if (known != null) {
            makeWay(known, nowMs);
        }
        if (known != entry) {
            tiers.catalogue().add(entry);
            if (!put.options().group().isEmpty()) {
                tiers.catalogue().joinGroup(entry, put.options().group());
            }
        }
        return begin(entry, put, placed, nowMs);
    }

    /** Adds the replica in its writer's own file to a put; 0 when there is no such put any more. */
    long addGds(final ObjectCommand.AddGdsReplicaStart add, final long nowMs) {
        final PendingWrite write = find(add.key(), add.version(), add.clientId());
        if (write == null || write.isDiscarded()) {
            return ObjectCommand.AddGdsReplicaStart.STALE;
        }
        final PlacedReplica known = write.gds();
        if (known != null && known.segment().isReadable()) {
            return GdsStorages.same(known, add);
        }
        final PlacedReplica replica =
            tiers.gds().place(write.entry(), add.clientId(), write.command().size(), add.extent(), nowMs);
        write.replicas().add(replica);
        if (known != null) {
            // The file has been registered anew since, and what was in it before goes.
            lost(known, nowMs);
        }
        tiers.gds().find(add.clientId()).begun(false);
        return replica.id();
    }

    /** Starts a put of a value that goes to its writer's own file alone. */
    PutStartReply startInFile(final ObjectCommand.CreateGdsOnlyObject create, final long nowMs) {
        final ObjectCommand.PutStart put = create.put();
        check(put);
        final ObjectEntry known = tiers.catalogue().find(put.key());
        final PutStartReply taken = known == null ? null : taken(known, put, tiers.isReadable(known), nowMs);
        if (taken != null) {
            return taken;
        }
        if (known != null) {
            tiers.shield(known);
        }
        try {
            final boolean replaces = known != null && tiers.isReadable(known);
            final ObjectEntry entry = replaces ? known : new ObjectEntry(put.key());
            final PlacedReplica replica =
                tiers.gds().place(entry, put.clientId(), put.size(), create.extent(), nowMs);
            tiers.gds().find(put.clientId()).begun(true);
            return started(known, entry, put, List.of(replica), nowMs);
        } finally {
            if (known != null) {
                tiers.unshield(known, nowMs);
            }
        }
    }

    private void check(final ObjectCommand.PutStart put) {
        if (put.size() < 0) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "value " + put.key() + " has a size of " + put.size());
        }
        admission.checkRegistered(put.key().tenant());
        tiers.pins().check(put.options().softPin());
        if (!put.options().group().isEmpty()) {
            // Refuses what cannot be a name.
            ObjectKey.of(put.key().tenant(), put.options().group());
        }
    }

    /** Why a put of a known key does not start, or the answer that it has had before; null when it may start. */
    private PutStartReply taken(final ObjectEntry entry, final ObjectCommand.PutStart put, final boolean readable,
        final long nowMs) {
        final PendingWrite write = entry.pending();
        if (write != null) {
            if (write.command().attempt() == put.attempt() && write.command().clientId().equals(put.clientId())) {
                return new PutStartReply.Started(write.version(), write.view());
            }
            if (!put.replace() && nowMs - write.startMs() < settings.liveness().discardMs()) {
                return new PutStartReply.Taken(readable ? PutOutcome.ALREADY_EXISTS : PutOutcome.BEING_WRITTEN);
            }
        }
        if (readable && !put.replace()) {
            return new PutStartReply.Taken(PutOutcome.ALREADY_EXISTS);
        }
        if (entry.promotion() != null || entry.isReplicating()) {
            if (put.replace()) {
                throw new StoreException(ErrorCode.OBJECT_HAS_REPLICATION_TASK, "object " + put.key()
                    + " is being copied; try again when that has ended");
            }
            return new PutStartReply.Taken(PutOutcome.BEING_WRITTEN);
        }
        if (readable) {
            checkGroup(entry, put);
        }
        return null;
    }

    /** Ends what another put takes the place of: a write that has not ended, and an object that is not readable. */
    private void makeWay(final ObjectEntry entry, final long nowMs) {
        final boolean readable = tiers.isReadable(entry);
        if (entry.pending() != null) {
            discard(entry.pending(), nowMs);
        }
        if (!readable) {
            purge(entry, nowMs);
        }
    }

    /** An object of which nothing can be read any more goes, so that its name is free. */
    private void purge(final ObjectEntry entry, final long nowMs) {
        tiers.retire(entry, false, nowMs);
        tiers.catalogue().remove(entry);
    }

    private static void checkGroup(final ObjectEntry entry, final ObjectCommand.PutStart put) {
        final String group = entry.group() == null ? "" : entry.group().name();
        if (!group.equals(put.options().group())) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "object " + put.key() + " is in group '" + group
                + "'; it cannot be replaced by one in group '" + put.options().group() + "', remove it first");
        }
    }

    private long largest(final PutOptions options) {
        final long memory = options.replicas() == 0 ? Long.MAX_VALUE : tiers.segments().largestSegment(Medium.MEMORY);
        final long nof = options.nofReplicas() == 0 ? Long.MAX_VALUE : tiers.segments().largestSegment(Medium.NOF);
        if (memory == 0 || nof == 0) {
            // Without any segment at all there is no room now, but there may be some day.
            return Long.MAX_VALUE;
        }
        return isEitherEnough(options) ? Math.max(memory, nof) : Math.min(memory, nof);
    }

    private List<PlacedReplica> place(final ObjectEntry entry, final ObjectCommand.PutStart put, final long nowMs) {
        final PutOptions options = put.options();
        final boolean nearby = options.sameHost() || settings.strategy() == MasterSettings.Strategy.LOCAL_FIRST;
        final String host = nearby ? clients.host(put.clientId()) : "";
        final List<PlacedReplica> memory = place(entry, put, Medium.MEMORY, options.replicas(), host, nowMs);
        if (options.replicas() > 0 && !isEnough(options, memory.size(), options.nofReplicas())) {
            tiers.memory().takeBack(memory, nowMs);
            return List.of();
        }
        // A block device is as near to one host as to any other.
        final List<PlacedReplica> nof = place(entry, put, Medium.NOF, options.nofReplicas(), "", nowMs);
        if (!isEnough(options, memory.size(), nof.size())) {
            tiers.memory().takeBack(memory, nowMs);
            tiers.nof().takeBack(nof, nowMs);
            return List.of();
        }
        final List<PlacedReplica> placed = new ArrayList<>(memory);
        placed.addAll(nof);
        return placed;
    }

    /**
     * Whether so many replicas will do. On one medium as many as there is room for; of one on each either one; of any
     * other mixture all that were asked for, since its writer gives all up when one cannot be written.
     */
    private static boolean isEnough(final PutOptions options, final int memory, final int nof) {
        final boolean oneMedium = options.replicas() == 0 || options.nofReplicas() == 0;
        return oneMedium || isEitherEnough(options) ? memory + nof > 0
            : memory == options.replicas() && nof == options.nofReplicas();
    }

    private static boolean isEitherEnough(final PutOptions options) {
        return options.replicas() == 1 && options.nofReplicas() == 1;
    }

    private List<PlacedReplica> place(final ObjectEntry entry, final ObjectCommand.PutStart put, final Medium medium,
        final int count, final String host, final long nowMs) {
        final SpaceTier tier = medium == Medium.MEMORY ? tiers.memory() : tiers.nof();
        return count == 0 ? List.of() : tier.place(new Placement.Wish(entry, put.size(), medium,
            put.options().preferredSegments(), host, false), count, nowMs);
    }

    /**
     * Whether a value may be overwritten where it lies: of the same size, in memory only, nobody reads it, and no
     * segment of it is being emptied or taken back.
     */
    private boolean fitsInPlace(final ObjectEntry entry, final ObjectCommand.PutStart put, final long nowMs) {
        final Residency memory = entry.residency(Medium.MEMORY);
        return entry.isReadable() && memory != null && !memory.isHeld()
            && !entry.isLeased(nowMs) && entry.record().size() == put.size()
            && entry.record().replicas().size() == memory.size() && memory.size() == put.options().replicas()
            && put.options().nofReplicas() == 0 && memory.isOpen(nowMs);
    }

    private PutStartReply overwrite(final ObjectEntry entry, final ObjectCommand.PutStart put, final long nowMs) {
        final List<PlacedReplica> replicas = new ArrayList<>();
        while (entry.residency(Medium.MEMORY) != null) {
            final PlacedReplica replica = entry.residency(Medium.MEMORY).first();
            tiers.memory().rewrite(replica);
            replicas.add(replica);
        }
        return begin(entry, put, replicas, nowMs);
    }

    private PutStartReply begin(final ObjectEntry entry, final ObjectCommand.PutStart put,
        final List<PlacedReplica> replicas, final long nowMs) {
        final PendingWrite write =
            new PendingWrite(put, entry, tiers.catalogue().nextVersion(), nowMs, replicas);
        entry.pending(write);
        pending.put(write.version(), write);
        return new PutStartReply.Started(write.version(), write.view());
    }

    Ack end(final ObjectCommand.PutEnd end, final long nowMs) {
        final PendingWrite write = find(end.key(), end.version(), end.clientId());
        if (write == null) {
            return tiers.catalogue().find(end.key(), end.version()) == null ? Ack.STALE : Ack.OK;
        }
        if (write.isDiscarded()) {
            release(write, end.scope(), nowMs);
            return Ack.STALE;
        }
        loseHidden(write, nowMs);
        final List<PlacedReplica> written = write.take(end.scope());
        final ObjectEntry entry = write.entry();
        final boolean first = entry.record() == null || entry.record().version() != write.version();
        if (written.isEmpty()) {
            return first ? Ack.STALE : Ack.OK;
        }
        if (first) {
            install(write, end, nowMs);
        }
        written.forEach(replica -> tiers.of(replica).completed(replica, nowMs));
        tiers.pinChanged(entry, nowMs);
        if (write.replicas().isEmpty()) {
            forget(write);
        }
        if (settings.pages().offloadAtPut()) {
            tiers.memory().copyDown(entry, nowMs);
        }
        keyFiles.begin(entry, nowMs);
        return Ack.OK;
    }

    /** What lies in a segment that is gone is lost before it is complete, so that it replaces nothing. */
    private void loseHidden(final PendingWrite write, final long nowMs) {
        for (final PlacedReplica replica : List.copyOf(write.replicas())) {
            if (!replica.segment().isReadable()) {
                lost(replica, nowMs);
            }
        }
    }

    /** The first replica of a write is complete: its value takes the place of the one before. */
    private void install(final PendingWrite write, final ObjectCommand.PutEnd end, final long nowMs) {
        final ObjectEntry entry = write.entry();
        final PutOptions options = write.command().options();
        if (write.command().replace()) {
            // What it has now need not be the last that it had.
            tiers.disk().replaced(entry.key(), write.version());
        }
        tiers.retire(entry, false, nowMs);
        tiers.catalogue().replace(entry, new ObjectRecord(write.version(), write.command().size(), end.checksummed(),
            end.checksum(), options.dataType(), clients.shared(write.command().clientId()), List.of()));
        if (options.hardPin()) {
            entry.pinHard();
        }
        tiers.pins().apply(entry, options.softPin(), nowMs);
    }

    Ack revoke(final ObjectCommand.PutRevoke revoke, final long nowMs) {
        final PendingWrite write = find(revoke.key(), revoke.version(), revoke.clientId());
        if (write == null) {
            return Ack.STALE;
        }
        if (write.isDiscarded()) {
            if (revoke.settled()) {
                release(write, revoke.scope(), nowMs);
            }
            return Ack.STALE;
        }
        abandon(write, revoke.scope(), revoke.settled() ? 0 : settings.liveness().overMs(write.startMs()), nowMs);
        return Ack.OK;
    }

    /**
     * The writer of a replica in his own file asks what has become of it, so that its put is over. He vouches for the
     * file alone: the owner of a segment may still write what he sent there, as after a revocation that is not settled.
     */
    void giveUp(final ObjectEntry entry, final PlacedReplica replica, final long nowMs) {
        final PendingWrite write = entry.pending();
        if (write == null || !write.replicas().contains(replica)) {
            return;
        }
        abandon(write, Scope.GDS, 0, nowMs);
        if (!write.replicas().isEmpty()) {
            abandon(write, Scope.ALL, settings.liveness().overMs(write.startMs()), nowMs);
        }
    }

    private PendingWrite find(final ObjectKey key, final long version, final UUID clientId) {
        final PendingWrite write = pending.get(version);
        if (write == null || !write.entry().key().equals(key)) {
            return null;
        }
        if (!write.command().clientId().equals(clientId)) {
            throw new StoreException(ErrorCode.ILLEGAL_CLIENT, "the put of " + key + " was started by client "
                + write.command().clientId() + ", not by " + clientId);
        }
        return write;
    }

    /**
     * Another write takes the place of this one. Its writer may still be at it, so its replicas stay held until he ends
     * or revokes it, or until he can no longer be at it.
     */
    private void discard(final PendingWrite write, final long nowMs) {
        discarded++;
        write.discard();
        write.entry().pending(null);
        for (final PlacedReplica replica : write.replicas()) {
            staleBytes += replica.size();
            tiers.of(replica).drop(replica, nowMs);
        }
    }

    /** The writer of a discarded write is done with replicas of it. */
    private void release(final PendingWrite write, final Scope scope, final long nowMs) {
        for (final PlacedReplica replica : write.take(scope)) {
            staleBytes -= replica.size();
            tiers.of(replica).release(replica, nowMs);
        }
        if (write.replicas().isEmpty()) {
            pending.remove(write.version());
        }
    }

    /** Gives replicas of a write up, whose room rests for a while; without any left the write is over. */
    private void abandon(final PendingWrite write, final Scope scope, final long restUntilMs, final long nowMs) {
        for (final PlacedReplica replica : write.take(scope)) {
            tiers.of(replica).drop(replica, restUntilMs, nowMs);
            tiers.of(replica).release(replica, nowMs);
        }
        if (write.replicas().isEmpty()) {
            forget(write);
            tiers.catalogue().removeIfEmpty(write.entry());
        }
    }

    private void forget(final PendingWrite write) {
        pending.remove(write.version());
        if (write.entry().pending() == write) {
            write.entry().pending(null);
        }
    }

    /** A replica that is being written lies in a segment that is gone. */
    void lost(final PlacedReplica replica, final long nowMs) {
        final PendingWrite write = replica.owner().pending();
        if (write != null && write.replicas().remove(replica)) {
            final ObjectEntry entry = write.entry();
            tiers.of(replica).lose(replica, nowMs);
            tiers.of(replica).release(replica, nowMs);
            if (write.replicas().isEmpty()) {
                forget(write);
                tiers.catalogue().removeIfEmpty(entry);
            }
        }
    }

    /** Gives up what has not ended in time. */
    void expire(final long nowMs) {
        while (!pending.isEmpty()) {
            final PendingWrite oldest = pending.values().iterator().next();
            if (nowMs - oldest.startMs() < settings.liveness().releaseMs()) {
                return;
            }
            released++;
            if (oldest.isDiscarded()) {
                release(oldest, Scope.ALL, nowMs);
            } else {
                abandon(oldest, Scope.ALL, 0, nowMs);
            }
        }
    }

    long pending() {
        return pending.size();
    }

    long discarded() {
        return discarded;
    }

    long released() {
        return released;
    }

    Allocations allocations() {
        return new Allocations(unplaced, partlyPlaced, staleBytes);
    }
}
