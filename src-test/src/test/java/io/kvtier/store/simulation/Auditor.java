package io.kvtier.store.simulation;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PageCommand;
import io.kvtier.store.protocol.PageCommand.PageAllocation;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Looks over the master's shoulder: what it gives to a writer must be nobody else's. A range is somebody's while it is
 * a readable replica, is being written or copied, or a lease that the master granted on it has not ended.
 */
final class Auditor {
    private final Map<UUID, List<Claim>> claims = new HashMap<>();
    /** Of which memory replica an allocation of pages is to be a copy. */
    private final Map<Long, Long> sources = new HashMap<>();
    /** When a task was named first. */
    private final Map<Long, Long> fetched = new HashMap<>();
    private final World world;
    private final List<ObjectKey> keys;
    private final PageAuditor pages;

    /** Why nothing else may lie there until then; {@code owner} is a version, or a replica for copies. */
    private record Claim(String why, long owner, long from, long to, long untilMs) {
    }

    Auditor(final World world) {
        this.world = world;
        this.keys = world.keys();
        this.pages = new PageAuditor(world);
    }

    /** Something is about to be done. */
    void before(final SimulatedMaster master, final Command<?> command, final long nowMs) {
        if (world.hasPages()) {
            pages.before(master, command, nowMs);
        }
    }

    /** Something was answered. */
    void answered(final SimulatedMaster master, final Command<?> command, final Object reply, final long nowMs) {
        if (world.hasPages()) {
            pages.answered(master, command, reply, nowMs);
        }
        switch (command) {
            case ObjectCommand.PutStart ignored when reply instanceof PutStartReply.Started started ->
                started.replicas().forEach(replica -> given(master, replica, "a write", started.version(), nowMs));
            case ObjectCommand.CreateGdsOnlyObject create when reply instanceof PutStartReply.Started started
                && isIn(started.replicas(), create.extent()) -> taken(master, create.put().key(), create.extent());
            case ObjectCommand.AddGdsReplicaStart add when (Long) reply != ObjectCommand.AddGdsReplicaStart.STALE ->
                taken(master, add.key(), add.extent());
            case ObjectCommand.PutEnd end -> ended("a write", end.version());
            case ObjectCommand.PutRevoke revoke when revoke.settled() -> ended("a write", revoke.version());
            case ObjectCommand.ReadStart ignored -> leased((ReadReply) reply, nowMs);
            case DiskCommand<?> disk -> answeredForDisks(master, disk, reply, nowMs);
            case PageCommand<?> pageCommand -> answeredForPages(pageCommand, reply);
            default -> {
                // Gives nobody a range.
            }
        }
    }

    /** The memory that disks are filled from, and that what they have is copied to. */
    private void answeredForDisks(final SimulatedMaster master, final DiskCommand<?> command, final Object reply,
        final long nowMs) {
        switch (command) {
            case DiskCommand.PromotionStart ignored when reply instanceof PromotionReply promotion
                && promotion.accepted() -> given(master, new Replica(promotion.replicaId(), null, promotion.memory()),
                    "a promotion", promotion.replicaId(), nowMs);
            case DiskCommand.PromotionEnd end when end.success() || end.settled() ->
                ended("a promotion", end.replicaId());
            case DiskCommand.FetchOffloads ignored ->
                ((List<?>) reply).forEach(task -> fetched((OffloadTask) task, nowMs));
            case DiskCommand.OffloadDone done -> ended("an offload", done.task().replicaId());
            case DiskCommand.FetchKeyFiles ignored ->
                ((List<?>) reply).forEach(task -> fetched((DiskCommand.KeyFileTask) task, nowMs));
            case DiskCommand.KeyFileWritten done -> ended("a file", done.replicaId());
            default -> {
                // Gives nobody a range.
            }
        }
    }

    /** The memory that pages are filled from. */
    private void answeredForPages(final PageCommand<?> command, final Object reply) {
        switch (command) {
            case PageCommand.BatchAllocateDistributedPage all -> {
                for (int i = 0; i < all.requests().size(); i++) {
                    sources.put(((PageAllocation) ((List<?>) reply).get(i)).replicaId(),
                        all.requests().get(i).sourceId());
                }
            }
            case PageCommand.NotifyDistributedDiskSuccess all -> all.values().forEach(value ->
                ended("an offload", sources.getOrDefault(value.replicaId(), 0L)));
            case PageCommand.UnmountDistributedDisk gone -> left(gone.clientId());
            default -> {
                // Gives nobody a range.
            }
        }
    }

    private void given(final SimulatedMaster master, final Replica replica, final String why, final long owner,
        final long nowMs) {
        if (!(replica.descriptor() instanceof ReplicaDescriptor.Memory range)) {
            // Room in a file is its owner's to give.
            return;
        }
        final List<Claim> there = claims.computeIfAbsent(range.segment().segmentId(), id -> new ArrayList<>());
        there.removeIf(claim -> claim.untilMs() <= nowMs);
        final long from = range.offset();
        final long to = from + Math.max(1, range.size());
        for (final Claim claim : there) {
            if (claim.why().equals(why) && claim.owner() == owner) {
                return;
            }
            if (from < claim.to() && claim.from() < to) {
                throw new Violation(why + " " + owner + " was given " + range + " at " + nowMs + " ms, where there is "
                    + claim);
            }
        }
        for (final ObjectKey key : keys) {
            for (final Replica complete : master.look(new ObjectCommand.Query(key)).replicas()) {
                if (complete.descriptor() instanceof ReplicaDescriptor.Memory other
                    && other.segment().equals(range.segment()) && from < other.offset() + Math.max(1, other.size())
                    && other.offset() < to) {
                    throw new Violation(why + " " + owner + " was given " + range + ", where a replica of " + key
                        + " is: " + complete);
                }
            }
        }
        there.add(new Claim(why, owner, from, to, nowMs + Times.RELEASE));
    }

    /** Named again it is not held for longer. */
    private void fetched(final OffloadTask task, final long nowMs) {
        final ReplicaDescriptor.Memory range = task.source();
        final List<Claim> there = claims.computeIfAbsent(range.segment().segmentId(), id -> new ArrayList<>());
        if (there.stream().noneMatch(claim -> claim.why().equals("an offload") && claim.owner() == task.replicaId())) {
            there.add(new Claim("an offload", task.replicaId(), range.offset(), range.offset() + range.size(),
                fetched.computeIfAbsent(task.replicaId(), id -> nowMs) + Times.RELEASE));
        }
    }

    private void fetched(final DiskCommand.KeyFileTask task, final long nowMs) {
        final ReplicaDescriptor.Memory range = task.source();
        final List<Claim> there = claims.computeIfAbsent(range.segment().segmentId(), id -> new ArrayList<>());
        if (there.stream().noneMatch(claim -> claim.why().equals("a file") && claim.owner() == task.replicaId())) {
            there.add(new Claim("a file", task.replicaId(), range.offset(), range.offset() + range.size(),
                fetched.computeIfAbsent(task.replicaId(), id -> nowMs)));
        }
    }

    private void leased(final ReadReply reply, final long nowMs) {
        for (final Replica replica : reply.replicas()) {
            if (replica.descriptor() instanceof ReplicaDescriptor.Memory range) {
                final List<Claim> there =
                    claims.computeIfAbsent(range.segment().segmentId(), id -> new ArrayList<>());
                // One claim a replica is enough, the latest.
                there.removeIf(claim -> claim.why().equals("a lease") && claim.owner() == reply.version());
                there.add(new Claim("a lease", reply.version(), range.offset(), range.offset() + range.size(),
                    nowMs + reply.leaseMs()));
            }
        }
    }

    /** Who leaves the shared files has no tasks any more, and is about to die. */
    private void left(final UUID clientId) {
        claims.forEach((segmentId, there) -> there.removeIf(claim -> claim.why().equals("an offload")
            && world.lent(segmentId).lenderId().equals(clientId)));
    }

    private void ended(final String why, final long owner) {
        for (final List<Claim> there : claims.values()) {
            there.removeIf(claim -> claim.why().equals(why) && claim.owner() == owner);
        }
    }

    /** An earlier start of the same put may be elsewhere. */
    private static boolean isIn(final List<Replica> replicas, final ObjectCommand.GdsExtent extent) {
        return replicas.stream().anyMatch(replica -> replica.descriptor() instanceof ReplicaDescriptor.Gds place
            && place.valueOffset() == extent.offset());
    }

    /** The master has taken note of room in a file: nothing else that it knows may lie there. */
    private void taken(final SimulatedMaster master, final ObjectKey key, final ObjectCommand.GdsExtent extent) {
        for (final ObjectKey other : keys) {
            for (final Replica complete : master.look(new ObjectCommand.Query(other)).replicas()) {
                if (complete.isComplete() && complete.descriptor() instanceof ReplicaDescriptor.Gds there
                    && there.storageId().equals(extent.storageId())
                    && there.storageGeneration() == extent.generation()
                    && there.valueOffset() < extent.offset() + extent.bytes()
                    && extent.offset() < there.valueOffset() + there.allocatedSize()) {
                    throw new Violation("a write of " + key + " was given " + extent + ", where a replica of " + other
                        + " is: " + complete);
                }
            }
        }
    }

    /** What must hold at any time. */
    void check(final SimulatedMaster master, final long nowMs) {
        final Map<UUID, List<ReplicaDescriptor.Memory>> seen = new HashMap<>();
        final Map<UUID, List<ReplicaDescriptor.Gds>> inFiles = new HashMap<>();
        long diskReplicas = 0;
        for (final ObjectKey key : keys) {
            final ReadReply object = master.look(new ObjectCommand.Query(key));
            for (final Replica replica : object.replicas()) {
                switch (replica.descriptor()) {
                    case ReplicaDescriptor.Memory range -> {
                        final List<ReplicaDescriptor.Memory> others =
                            seen.computeIfAbsent(range.segment().segmentId(), id -> new ArrayList<>());
                        others.forEach(other -> apart(range, other));
                        others.add(range);
                    }
                    case ReplicaDescriptor.Gds place -> {
                        final List<ReplicaDescriptor.Gds> others =
                            inFiles.computeIfAbsent(place.storageId(), id -> new ArrayList<>());
                        others.forEach(other -> apart(place, other));
                        others.add(place);
                        bytes(key, object.version(), replica, place);
                    }
                    case ReplicaDescriptor.DistributedDisk ignored -> {
                        // Has an auditor of its own.
                    }
                    case ReplicaDescriptor.Disk place -> {
                        world.folder().check(key, object.version(), place);
                        diskReplicas++;
                    }
                    default -> diskReplicas++;
                }
            }
        }
        compare(master, diskReplicas);
        if (world.hasPages()) {
            pages.check(master, nowMs);
        }
    }

    /** All counts agree. */
    private static void compare(final SimulatedMaster master, final long diskReplicas) {
        final MasterStats stats = master.look(new AdminCommand.Statistics());
        long used = 0;
        long replicas = 0;
        for (final SegmentCommand.SegmentInfo info : master.look(new SegmentCommand.Segments())) {
            replicas += info.replicas();
            used += info.status() == SegmentCommand.Status.UNMOUNTING ? 0 : info.used();
        }
        if (used != stats.memoryUsed() || replicas != stats.memoryReplicas()) {
            throw new Violation(used + " bytes and " + replicas + " replicas are in segments, but told are " + stats);
        }
        long usedInFiles = 0;
        long replicasInFiles = 0;
        for (final GdsCommand.GdsStorageInfo info : master.look(new GdsCommand.GdsStorages())) {
            usedInFiles += info.used();
            replicasInFiles += info.replicas();
        }
        // Of files that are gone some may still be to be swept.
        if (usedInFiles != stats.gds().used() || replicasInFiles > stats.gds().replicas()) {
            throw new Violation(usedInFiles + " bytes and " + replicasInFiles + " replicas are in files, but told are "
                + stats);
        }
        if (diskReplicas > stats.diskReplicas()) {
            throw new Violation(diskReplicas + " disk replicas are shown, but told are " + stats);
        }
    }

    /** What an owner has as this very value is all of it, and nothing else. */
    private void bytes(final ObjectKey key, final long version, final Replica replica,
        final ReplicaDescriptor.Gds place) {
        final SimulatedClient owner = world.client(place.ownerClientId());
        final History.Put put = world.history().of(version);
        if (owner == null || !owner.isAlive() || put == null || !owner.files().place().isOf(place)) {
            return;
        }
        final FileOwner.Room room = owner.files().acquire(key, version, place);
        if (room == null) {
            // Its owner tells everybody who comes for it so.
            return;
        }
        for (int i = 0; i < put.units(); i++) {
            if (owner.files().unit(room, i) != put.unit(i)) {
                throw new Violation("unit " + i + " of " + replica + " is not that of " + put + " but "
                    + owner.files().unit(room, i) + "; the owner has " + room);
            }
        }
        owner.files().release(room);
    }

    private static void apart(final ReplicaDescriptor.Memory one, final ReplicaDescriptor.Memory other) {
        if (one.offset() < other.offset() + other.size() && other.offset() < one.offset() + one.size()) {
            throw new Violation("two replicas overlap: " + one + " and " + other);
        }
    }

    private static void apart(final ReplicaDescriptor.Gds one, final ReplicaDescriptor.Gds other) {
        if (one.storageGeneration() == other.storageGeneration()
            && one.valueOffset() < other.valueOffset() + other.allocatedSize()
            && other.valueOffset() < one.valueOffset() + one.allocatedSize()) {
            throw new Violation("two replicas overlap: " + one + " and " + other);
        }
    }
}
