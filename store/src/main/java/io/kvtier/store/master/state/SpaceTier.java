package io.kvtier.store.master.state;

import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.WorkKind;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Life of the replicas in segments of one medium: placed, completed, held and let go, evicted, freed.
 *
 * <p>The policy: above the high watermark, and whenever an allocation finds no range, objects are taken from the old
 * end of the {@link EvictionOrder}. One that has another copy, or no disk to go to, is dropped at once; any other is
 * queued for offload and counted as room to come.
 */
final class SpaceTier {
    private static final Medium[] MEDIA = Medium.values();

    private final Medium medium;
    /** The one segment that this is about; null for all of a medium. */
    private final LentSegment only;
    private final double highWatermark;
    private final double ratio;
    private final MasterSettings settings;
    private final ObjectCatalogue catalogue;
    private final Segments segments;
    private final DiskReplicas disk;
    private final EvictionOrder order;
    private final Offloads offloads;
    private final Tenants tenants;
    private final Effects effects;
    /** Replicas without an object that somebody still holds, by id. */
    private final Map<Long, PlacedReplica> orphans = new HashMap<>();
    private long residencies;
    private long held;
    private final EvictionCounts counts = new EvictionCounts();

    /** Those whose state a tier's replicas are part of; offloads are those of memory. */
    record Owners(MasterSettings settings, ObjectCatalogue catalogue, Segments segments, DiskReplicas disk,
                  Offloads offloads, Effects effects) {
    }

    /** Of memory, for which tenants are charged. */
    static SpaceTier ofMemory(final Owners owners) {
        final MasterSettings.Eviction when = owners.settings().eviction();
        return new SpaceTier(Medium.MEMORY, null, when.highWatermark(), when.ratio(), owners);
    }

    /** Of block devices. */
    static SpaceTier ofDevices(final Owners owners) {
        final MasterSettings.Eviction when = owners.settings().eviction();
        return new SpaceTier(Medium.NOF, null, when.nofHighWatermark(), when.nofRatio(), owners);
    }

    /** Of one client's own file, with an order of its own: what is evicted there makes room there alone. */
    static SpaceTier ofFile(final LentSegment file, final double highWatermark, final double ratio,
        final Owners owners) {
        return new SpaceTier(Medium.GDS, file, highWatermark, ratio, owners);
    }

    /** Of the files that all clients mount. */
    static SpaceTier ofPages(final Owners owners) {
        final MasterSettings.Pages when = owners.settings().pages();
        return new SpaceTier(Medium.DISTRIBUTED_DISK, null, when.highWatermark(), when.ratio(), owners);
    }

    private SpaceTier(final Medium medium, final LentSegment only, final double highWatermark, final double ratio,
        final Owners owners) {
        this.medium = medium;
        this.only = only;
        this.highWatermark = highWatermark;
        this.ratio = ratio;
        this.settings = owners.settings();
        this.catalogue = owners.catalogue();
        this.segments = owners.segments();
        this.disk = owners.disk();
        this.offloads = owners.offloads();
        this.tenants = catalogue.tenants();
        this.effects = owners.effects();
        this.order = new EvictionOrder(medium == Medium.MEMORY && tenants.isStrict() ? new TenantOrders() : null);
    }

    /**
     * Takes ranges for a value and holds them for whoever writes it.
     *
     * @return one to {@code count} replicas, or none when there is no room now.
     */
    List<PlacedReplica> place(final Placement.Wish wish, final int count, final long nowMs) {
        final int places = segments.places(wish, count, nowMs);
        if (places == 0) {
            // Nothing that could be evicted makes room for it.
            return List.of();
        }
        relieve(wish.size() * places, nowMs);
        List<PlacedReplica> placed = segments.allocate(wish, count, nowMs, catalogue);
        final boolean evicting = placed.isEmpty() && !wish.only();
        while (evicting && placed.isEmpty() && makeRoom(wish.size(), nowMs)) {
            placed = segments.allocate(wish, count, nowMs, catalogue);
        }
        for (final PlacedReplica replica : placed) {
            hold(replica);
            charge(replica);
        }
        return placed;
    }

    /** Undoes {@link #place}: nobody has been told of these replicas. */
    void takeBack(final List<PlacedReplica> placed, final long nowMs) {
        for (final PlacedReplica replica : placed) {
            refund(replica);
            replica.disown(0);
            replica.release();
            held--;
            segments.free(replica, nowMs);
        }
    }

    private void charge(final PlacedReplica replica) {
        if (medium == Medium.MEMORY) {
            tenants.charge(replica.owner().key().tenant(), replica.size());
        }
    }

    private void refund(final PlacedReplica replica) {
        if (medium == Medium.MEMORY) {
            if (replica.isOffloading()) {
                tenants.leaving(replica.owner().key().tenant(), -replica.size());
            }
            tenants.refund(replica.owner().key().tenant(), replica.size());
        }
    }

    /** Takes note of leases that have ended; true when there are more than one call takes note of. */
    boolean expireLeases(final long nowMs) {
        return order.expireLeases(nowMs);
    }

    /** Whether waiting may help: something holds room, or room rests, that will come free. */
    boolean mayComeFree() {
        return held > 0 || (only == null ? segments.hasResting(medium) : only.hasResting());
    }

    /** When the next lease ends here, unless it is prolonged; the end of time when none runs. */
    long nextLeaseEndMs() {
        return order.nextLeaseEndMs();
    }

    /** The writer is done with a replica: it becomes one of its object's, readable. */
    void completed(final PlacedReplica replica, final long nowMs) {
        final ObjectEntry entry = replica.owner();
        entry.used(nowMs);
        replica.complete();
        Residency residency = entry.residency(medium);
        if (residency == null) {
            residency = new Residency(entry);
            residencies++;
            entry.residency(medium, residency);
        } else {
            order.remove(residency);
        }
        residency.add(replica);
        residency.heldReplicas(1);
        catalogue.addReplica(entry, replica.view());
        release(replica, nowMs);
    }

    /** Holds a replica: it is neither evicted nor freed until released. */
    void hold(final PlacedReplica replica) {
        if (!replica.isHeld()) {
            held++;
            final Residency residency = residencyOf(replica);
            if (residency != null) {
                order.remove(residency);
                residency.heldReplicas(1);
            }
        }
        replica.hold();
    }

    /** Lets go of one hold. The last one puts the object back in order, or frees the range when nobody owns it. */
    void release(final PlacedReplica replica, final long nowMs) {
        replica.release();
        if (replica.isHeld()) {
            return;
        }
        held--;
        if (replica.owner() == null) {
            orphans.remove(replica.id());
            segments.free(replica, nowMs);
        } else {
            final Residency residency = residencyOf(replica);
            if (residency != null) {
                residency.heldReplicas(-1);
                enter(residency, nowMs);
            }
        }
        effects.spaceFreed();
    }

    private Residency residencyOf(final PlacedReplica replica) {
        return replica.owner() == null || !replica.isComplete() ? null : replica.owner().residency(medium);
    }

    private void enter(final Residency residency, final long nowMs) {
        if (!residency.isHeld() && !residency.isEmpty() && !residency.entry().isHardPinned()
            && residency.list() == null) {
            order.append(residency, nowMs);
        }
    }

    /** A use renews the place in the order. */
    void used(final ObjectEntry entry, final long nowMs) {
        final Residency residency = entry.residency(medium);
        if (residency == null) {
            return;
        }
        for (PlacedReplica replica = residency.first(); replica != null; replica = replica.sibling()) {
            replica.used();
        }
        if (residency.list() != null) {
            order.used(residency, nowMs);
        }
    }

    /** A soft pin has been set or has ended. */
    void pinChanged(final ObjectEntry entry, final long nowMs) {
        final Residency residency = entry.residency(medium);
        if (residency != null) {
            order.pinChanged(residency, nowMs);
        }
    }

    /** Keeps an object here, without a hold, while room is made for what takes its place. */
    void shield(final ObjectEntry entry) {
        final Residency residency = entry.residency(medium);
        if (residency != null) {
            order.remove(residency);
        }
    }

    /** Ends that: what is left of the object is the youngest. */
    void unshield(final ObjectEntry entry, final long nowMs) {
        final Residency residency = entry.residency(medium);
        if (residency != null) {
            enter(residency, nowMs);
        }
    }

    /** A complete replica of an object by its id, or one that somebody still holds; null when unknown. */
    PlacedReplica find(final ObjectEntry entry, final long replicaId) {
        if (entry != null) {
            final Residency residency = entry.residency(medium);
            final PlacedReplica replica = residency == null ? null : residency.find(replicaId);
            if (replica != null) {
                return replica;
            }
        }
        return orphans.get(replicaId);
    }

    /** Frees the range without rest: it cannot be leased, or its writer has said that it is done. */
    void drop(final PlacedReplica replica, final long nowMs) {
        drop(replica, 0, nowMs);
    }

    /** As {@link #drop}; the range rests as long as a reader may have a lease on it. */
    void dropLeased(final PlacedReplica replica, final long nowMs) {
        drop(replica, settings.remoteReaders() ? replica.owner().leaseUntilMs() : 0, nowMs);
    }

    /** Takes a replica away from its object; its range is freed when the last hold has ended and its rest is over. */
    void drop(final PlacedReplica replica, final long restUntilMs, final long nowMs) {
        final ObjectEntry entry = replica.owner();
        final long restMs = restMs(replica);
        detach(replica, entry);
        refund(replica);
        replica.disown(restMs == 0 ? restUntilMs : Math.max(restUntilMs, nowMs + restMs));
        if (replica.isHeld()) {
            orphans.put(replica.id(), replica);
        } else {
            segments.free(replica, nowMs);
            effects.spaceFreed();
        }
        catalogue.dropReplica(entry, replica.id());
        final Residency left = entry.residency(medium);
        if (left != null) {
            enter(left, nowMs);
        }
    }

    /**
     * How long a range rests at least. Pages that could be read do for another lease, though none runs any more:
     * descriptors of them are with any number of readers, whose clocks are their own, and nobody who could be told owns
     * them.
     */
    private long restMs(final PlacedReplica replica) {
        return medium == Medium.DISTRIBUTED_DISK && replica.isComplete() && settings.remoteReaders()
            ? settings.leaseMs() : 0;
    }

    private void detach(final PlacedReplica replica, final ObjectEntry entry) {
        final Residency residency = residencyOf(replica);
        if (residency == null) {
            return;
        }
        order.remove(residency);
        residency.remove(replica);
        if (replica.isHeld()) {
            residency.heldReplicas(-1);
        }
        if (residency.isEmpty()) {
            residencies--;
            entry.residency(medium, null);
        }
    }

    /** Takes a complete, unheld replica back to being written, held by its writer. */
    void rewrite(final PlacedReplica replica) {
        final ObjectEntry entry = replica.owner();
        detach(replica, entry);
        catalogue.replace(entry, entry.record().without(replica.id()));
        replica.rewrite();
        hold(replica);
    }

    /** What lies in a segment that is gone: the object loses it, and whoever holds it holds nothing. */
    void lose(final PlacedReplica replica, final long nowMs) {
        replica.segment().detach(replica);
        if (replica.owner() != null) {
            drop(replica, 0, nowMs);
        }
    }

    /** Ends an offload: the memory goes, unless it was used meanwhile or could not be copied. */
    void offloadEnded(final PlacedReplica replica, final boolean stored, final long nowMs) {
        release(replica, nowMs);
        if (replica.owner() == null) {
            return;
        }
        final boolean stays = replica.isKeptAfterOffload();
        tenants.leaving(replica.owner().key().tenant(), -replica.size());
        if (replica.isHeld()) {
            return;
        }
        final Residency residency = residencyOf(replica);
        if (!stored) {
            if (residency.list() != null && !replica.isStaying()) {
                order.remove(residency);
                order.putBack(residency, nowMs);
            }
        } else if (!stays && !replica.owner().isLeased(nowMs)) {
            counts.evicted(replica);
            drop(replica, nowMs);
        }
    }

    /** Has a value copied to the files that all clients mount, and kept here as well. */
    void copyDown(final ObjectEntry entry, final long nowMs) {
        final Residency residency = entry.residency(medium);
        final PlacedReplica copied = residency == null || residency.isHeld()
            || entry.residency(Medium.DISTRIBUTED_DISK) != null ? null : offloads.chooseForPages(residency, nowMs);
        if (copied != null) {
            hold(copied);
            offloads.queue(copied, true, nowMs);
            // It does not go, but can when it has been copied: who wants room in a quota waits until then.
            tenants.leaving(entry.key().tenant(), copied.size());
            effects.workQueued(copied.segment().clientId(), WorkKind.OFFLOADS);
        }
    }

    /** Evicts a share of all objects here; of softly pinned ones only what the least share needs. */
    Evicted evict(final double share, final double least, final long nowMs) {
        final Evicted evicted = new Evicted();
        final long wanted = part(share);
        final long needed = part(least);
        evictUntil(wanted, false, evicted, nowMs);
        evictUntil(needed, settings.eviction().softPinned(), evicted, nowMs);
        counts.run(evicted);
        return evicted;
    }

    /** A share of the objects here, rounded up; not for a fraction that only the arithmetic has made. */
    private long part(final double share) {
        return (long) Math.ceil(share * residencies * (1 - 1e-12));
    }

    /** Value bytes that a tenant with a quota can lose; not all there are, when these are as many as are wanted. */
    long evictable(final String tenant, final long wanted, final long nowMs) {
        return order.bytesOf(tenant, settings.eviction().softPinned(), wanted, nowMs);
    }

    /** Evicts what a tenant with a quota has, oldest first, until that many of its value bytes go. */
    void evictOf(final String tenant, final long bytes, final long nowMs) {
        if (bytes <= 0) {
            return;
        }
        final boolean evenSoftPinned = settings.eviction().softPinned();
        final Evicted evicted = new Evicted();
        while (evicted.valueBytes() < bytes && order.oldestOf(tenant, evenSoftPinned, nowMs) != null) {
            evict(order.oldestOf(tenant, evenSoftPinned, nowMs), evicted, nowMs);
        }
        tenants.evicted(tenant, evicted.valueBytes());
        counts.run(evicted);
    }

    private void evictUntil(final long objects, final boolean evenSoftPinned, final Evicted evicted,
        final long nowMs) {
        while (evicted.objects() < objects && order.oldest(evenSoftPinned, nowMs) != null) {
            evict(order.oldest(evenSoftPinned, nowMs), evicted, nowMs);
        }
    }

    long held() {
        return held;
    }

    /** What was evicted here. */
    EvictionCounts counts() {
        return counts;
    }

    private long capacity() {
        return only == null ? segments.capacity(medium) : only.capacity();
    }

    private long usedBytes() {
        return only == null ? segments.used(medium) : only.used();
    }

    private void relieve(final long bytes, final long nowMs) {
        final long capacity = capacity();
        final long used = usedBytes();
        // Pages that rest are as good as free: else each allocation until they have would start another eviction.
        final long kept = medium == Medium.DISTRIBUTED_DISK ? used - coming() : used;
        if (kept + bytes <= highWatermark * capacity || highWatermark >= 1) {
            return;
        }
        final long low = (long) ((highWatermark - ratio) * capacity);
        final long excess = used + bytes - low - coming();
        if (excess > 0) {
            evictBytes(excess, nowMs);
        }
    }

    /** Evicts until so many bytes go, or nothing more may; returns how many go. */
    long evictBytes(final long bytes, final long nowMs) {
        final boolean evenSoftPinned = settings.eviction().softPinned();
        final Evicted evicted = new Evicted();
        while (evicted.bytes() < bytes && order.oldest(evenSoftPinned, nowMs) != null) {
            evict(order.oldest(evenSoftPinned, nowMs), evicted, nowMs);
        }
        counts.run(evicted);
        return evicted.bytes();
    }

    /** A range that its owner has allocated is held for whoever writes it; others go where that is too much. */
    void marked(final PlacedReplica replica, final long nowMs) {
        segments.marked(replica);
        hold(replica);
        relieve(0, nowMs);
    }

    /** A value of before a restore is found at its place: it is there again, charged for, and held by nobody. */
    void returned(final PlacedReplica replica, final long nowMs) {
        segments.marked(replica);
        hold(replica);
        charge(replica);
        completed(replica, nowMs);
    }

    /** Bytes that will be free when what is being copied to disks has ended, or pages have rested. */
    private long coming() {
        return switch (medium) {
            case MEMORY -> offloads.pendingBytes();
            case DISTRIBUTED_DISK -> segments.resting(medium);
            case NOF, GDS -> 0;
        };
    }

    /** Frees, or starts to free, enough for an allocation that failed; false when nothing was freed right now. */
    boolean makeRoom(final long size, final long nowMs) {
        // Pages come free when they have rested, so that here nothing ends the loop before it has all that it wants.
        final long wanted = medium == Medium.DISTRIBUTED_DISK ? size : Math.max(size, (long) (ratio * capacity()));
        final boolean evenSoftPinned = settings.eviction().softPinned();
        final long coming = coming();
        final Evicted evicted = new Evicted();
        boolean freed = false;
        while (!freed && order.oldest(evenSoftPinned, nowMs) != null && coming + evicted.bytes() < wanted) {
            final long before = usedBytes();
            evict(order.oldest(evenSoftPinned, nowMs), evicted, nowMs);
            freed = usedBytes() < before;
        }
        counts.run(evicted);
        return freed;
    }

    /** Evicts an object and the group it is in; one whose group is leased goes to the leased list instead. */
    private void evict(final Residency victim, final Evicted evicted, final long nowMs) {
        final ObjectEntry entry = victim.entry();
        if (entry.isLeased(nowMs)) {
            order.remove(victim);
            order.append(victim, nowMs);
        } else if (entry.group() == null) {
            evictOne(victim, evicted, nowMs);
        } else {
            for (final ObjectEntry member : List.copyOf(entry.group().members())) {
                final Residency residency = member.residency(medium);
                if (residency != null && residency.list() != null
                    && (only == null || residency.first().segment() == only)) {
                    evictOne(residency, evicted, nowMs);
                }
            }
        }
    }

    private void evictOne(final Residency victim, final Evicted evicted, final long nowMs) {
        final boolean onlyCopy = !hasCopyBeside(victim.entry(), false);
        final boolean onlyForAll = onlyCopy || !hasCopyBeside(victim.entry(), true);
        final PlacedReplica saved = onlyForAll && medium == Medium.MEMORY ? offloads.choose(victim, nowMs) : null;
        evicted.object();
        PlacedReplica replica = victim.first();
        while (replica != null) {
            final PlacedReplica next = replica.sibling();
            // What lies in a segment that is gone makes no room when it goes.
            evicted.replica(replica.segment().isReadable() ? replica.allocated() : 0, replica.size());
            if (replica != saved) {
                counts.evicted(replica);
                drop(replica, nowMs);
            }
            replica = next;
        }
        if (saved != null) {
            hold(saved);
            offloads.queue(saved, false, nowMs);
            tenants.leaving(saved.owner().key().tenant(), saved.size());
            effects.workQueued(saved.segment().clientId(), WorkKind.OFFLOADS);
        } else if (onlyCopy) {
            counts.lostLastCopy();
        }
    }

    /** Whether there is a copy elsewhere, one that every client can read or any, and not on what is being swept. */
    private boolean hasCopyBeside(final ObjectEntry entry, final boolean forAll) {
        for (final Medium other : MEDIA) {
            final Residency beside = other == medium ? null : entry.residency(other);
            if (beside != null && (forAll ? beside.isForAll() : beside.isReadable())) {
                return true;
            }
        }
        return disk.hasCopy(entry);
    }
}
