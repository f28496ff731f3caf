package io.kvtier.store.master.state;

import io.kvtier.store.ObjectKey;
import java.util.HashMap;
import java.util.Map;

/**
 * Life of memory replicas: placed, completed, held and let go, evicted, freed.
 *
 * <p>The policy: above the high watermark, and whenever an allocation finds no range, replicas are taken from the old
 * end of the {@link EvictionOrder}. One whose object has another copy, or no disk to go to, is dropped at once; any
 * other is queued for offload and counted as room to come.
 */
final class MemoryTier {
    private final MasterSettings settings;
    private final ObjectCatalogue catalogue;
    private final Segments segments;
    private final EvictionOrder order = new EvictionOrder();
    private final Offloads offloads;
    private final Effects effects;
    /** Replicas without an object that somebody still holds, by id. */
    private final Map<Long, MemoryReplica> orphans = new HashMap<>();
    private long held;
    private long evictions;
    private long evictionsWithoutCopy;

    MemoryTier(final MasterSettings settings, final ObjectCatalogue catalogue, final Segments segments,
        final Offloads offloads, final Effects effects) {
        this.settings = settings;
        this.catalogue = catalogue;
        this.segments = segments;
        this.offloads = offloads;
        this.effects = effects;
    }

    /** Takes memory for a value and holds it for the writer; null when there is none now. */
    MemoryReplica place(final ObjectEntry owner, final long size, final long nowMs) {
        order.expireLeases(nowMs);
        relieve(size, nowMs);
        MemoryReplica replica = segments.allocate(catalogue.nextReplicaId(), owner, size);
        while (replica == null && evictFor(size, nowMs)) {
            replica = segments.allocate(catalogue.nextReplicaId(), owner, size);
        }
        if (replica != null) {
            hold(replica);
            owner.memory(replica);
        }
        return replica;
    }

    /** Whether waiting may help: something holds memory that will let go of it. */
    boolean mayComeFree() {
        return held > 0;
    }

    /** The writer is done: the replica becomes readable. */
    void completed(final MemoryReplica replica, final long nowMs) {
        catalogue.addReplica(replica.owner(), replica.complete());
        release(replica, nowMs);
    }

    /** Holds a complete replica for a reader or an offload; it cannot be evicted until released. */
    void hold(final MemoryReplica replica) {
        order.remove(replica);
        if (!replica.isHeld()) {
            held++;
        }
        replica.hold();
    }

    /** Lets go of one hold. The last one puts the replica back in order, or frees it when its object is gone. */
    void release(final MemoryReplica replica, final long nowMs) {
        replica.release();
        if (replica.isHeld()) {
            return;
        }
        held--;
        if (replica.owner() == null) {
            orphans.remove(replica.id());
            segments.free(replica);
        } else {
            order.append(replica, nowMs);
        }
        effects.spaceFreed();
    }

    /** A use renews the place in the order. */
    void used(final MemoryReplica replica, final long nowMs) {
        replica.used();
        if (!replica.isHeld()) {
            order.remove(replica);
            order.append(replica, nowMs);
        }
    }

    /** The replica that a reader holds, whether its object is still there or not; null when unknown. */
    MemoryReplica heldReplica(final ObjectKey key, final long replicaId) {
        final ObjectEntry entry = catalogue.find(key);
        if (entry != null && entry.memory() != null && entry.memory().id() == replicaId) {
            return entry.memory();
        }
        return orphans.get(replicaId);
    }

    /** Takes the memory replica away from its object; the range is freed now, or when the last hold ends. */
    void drop(final MemoryReplica replica) {
        final ObjectEntry entry = replica.owner();
        order.remove(replica);
        entry.memory(null);
        replica.disown();
        if (replica.isHeld()) {
            orphans.put(replica.id(), replica);
        } else {
            segments.free(replica);
            effects.spaceFreed();
        }
        catalogue.dropReplica(entry, replica.id());
    }

    /** Ends an offload: the memory goes, unless it was used meanwhile or could not be copied. */
    void offloadEnded(final MemoryReplica replica, final boolean stored, final long nowMs) {
        release(replica, nowMs);
        if (replica.owner() == null || replica.isHeld()) {
            return;
        }
        if (!stored) {
            order.remove(replica);
            order.putBack(replica);
        } else if (!replica.wasUsedWhileOffloading() && !replica.owner().isLeased(nowMs)) {
            evictions++;
            drop(replica);
        }
    }

    long held() {
        return held;
    }

    long evictions() {
        return evictions;
    }

    long evictionsWithoutCopy() {
        return evictionsWithoutCopy;
    }

    private void relieve(final long size, final long nowMs) {
        final long capacity = segments.capacity();
        final long used = segments.used();
        if (used + size <= settings.highWatermark() * capacity || settings.highWatermark() >= 1) {
            return;
        }
        final long low = (long) ((settings.highWatermark() - settings.evictionRatio()) * capacity);
        long excess = used + size - low - offloads.pendingBytes();
        while (excess > 0 && order.oldest() != null) {
            excess -= evictOldest(nowMs);
        }
    }

    /** Frees, or starts to free, enough for an allocation that failed; false when nothing was freed right now. */
    private boolean evictFor(final long size, final long nowMs) {
        final long wanted = Math.max(size, (long) (settings.evictionRatio() * segments.capacity()));
        long coming = offloads.pendingBytes();
        while (order.oldest() != null && coming < wanted) {
            final long before = segments.used();
            final long bytes = evictOldest(nowMs);
            if (segments.used() < before) {
                return true;
            }
            coming += bytes;
        }
        return false;
    }

    private long evictOldest(final long nowMs) {
        final MemoryReplica victim = order.oldest();
        final boolean onlyCopy = victim.owner().record().replicas().size() == 1;
        if (onlyCopy && offloads.accepts(victim, nowMs)) {
            hold(victim);
            offloads.queue(victim);
            effects.offloadsQueued(victim.segment().clientId());
        } else {
            evictions++;
            if (onlyCopy) {
                evictionsWithoutCopy++;
            }
            drop(victim);
        }
        return victim.allocated();
    }
}
