package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.PageCommand.PageAllocation;
import io.kvtier.store.protocol.PageCommand.PageOutcome;
import io.kvtier.store.protocol.PageCommand.PageRelease;
import io.kvtier.store.protocol.PageCommand.PageRequest;
import io.kvtier.store.protocol.PageCommand.StoredPages;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.replica.ReplicaType;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Pages that are being written: allocated for a version of an object, and not yet spoken of. Each belongs to the client
 * that asked for it and to nobody else, and its replica, which that client holds, is complete when it says so.
 *
 * <p><b>Why no writer's bytes come after the reaping.</b> A client writes to pages for no longer than it was told,
 * counted from before it asked; here the time counts from when the command was applied, which is later, and ends
 * {@code releaseMs} on. So when pages are reaped, their writer has stopped. They then rest for a lease more, for clocks
 * that go at different speeds and for what the kernel still had in its hands; and so they do when their writer dies
 * before. A writer that was stopped within a system call and goes on an hour later keeps no rule: whose value it writes
 * over is found by the checksum, which every value here has, and is a miss, not a wrong answer.
 *
 * <p><b>What is said late</b> names the id of an allocation, and so changes nothing of a later one for the same key.
 */
final class PageWrites {
    private final MasterSettings settings;
    private final Tiers tiers;
    private final PageSpace space;
    private final Offloads offloads;
    /** By the replica's id, in the order in which their time began. */
    private final Map<Long, PageWrite> active = new LinkedHashMap<>();
    /** The last one of each object. */
    private final Map<ObjectKey, PageWrite> byKey = new HashMap<>();
    private long reaped;
    private long stale;

    private record PageWrite(UUID clientId, ObjectKey key, long version, PlacedReplica replica, long sourceId,
                             long startMs) {
        private boolean is(final UUID client, final ObjectKey object, final long which) {
            return clientId.equals(client) && key.equals(object) && version == which;
        }
    }

    PageWrites(final MasterSettings settings, final Tiers tiers, final PageSpace space, final Offloads offloads) {
        this.settings = settings;
        this.tiers = tiers;
        this.space = space;
        this.offloads = offloads;
    }

    /** Refuses a request that does not fit its object; one for an object that is not there has an answer. */
    void check(final PageRequest request) {
        final ObjectEntry entry = tiers.catalogue().find(request.key(), request.version());
        if (entry != null && entry.record().size() != request.size()) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "pages for " + request.size() + " bytes were asked for; "
                + "version " + request.version() + " of object " + request.key() + " has " + entry.record().size());
        }
        if (request.size() < 1) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "pages for " + request.size() + " bytes of object "
                + request.key() + " were asked for; a value in the shared files has a byte at least");
        }
    }

    /** Pages for a request that was {@link #check}ed. */
    PageAllocation allocate(final UUID clientId, final PageRequest request, final long nowMs) {
        final ObjectEntry entry = tiers.catalogue().find(request.key(), request.version());
        if (entry == null || !tiers.isReadable(entry)) {
            return PageAllocation.none(PageOutcome.STALE);
        }
        final Residency there = entry.residency(Medium.DISTRIBUTED_DISK);
        if (there != null) {
            return new PageAllocation(PageOutcome.STORED, there.first().id(), there.first().place());
        }
        final PageWrite known = byKey.get(request.key());
        if (known != null && known.version() == request.version()) {
            return known.clientId().equals(clientId) ? again(known, request, nowMs)
                : PageAllocation.none(PageOutcome.TAKEN);
        }
        final List<PlacedReplica> placed = tiers.pages().place(new Placement.Wish(entry, request.size(),
            Medium.DISTRIBUTED_DISK, List.of(), "", false), 1, nowMs);
        if (placed.isEmpty()) {
            space.failed();
            return PageAllocation.none(PageOutcome.NO_SPACE);
        }
        return begun(new PageWrite(clientId, request.key(), request.version(), placed.getFirst(), request.sourceId(),
            nowMs));
    }

    /**
     * The answer that named these pages may be lost, or what was said of them. Who asks again may write from now on,
     * for the whole time; a word on its earlier write that arrives while it does must neither free the pages nor make
     * them readable, and so they have another id.
     */
    private PageAllocation again(final PageWrite known, final PageRequest request, final long nowMs) {
        active.remove(known.replica().id());
        known.replica().renumber(tiers.catalogue().nextReplicaId());
        return begun(new PageWrite(known.clientId(), known.key(), known.version(), known.replica(),
            request.sourceId(), nowMs));
    }

    private PageAllocation begun(final PageWrite write) {
        active.put(write.replica().id(), write);
        byKey.put(write.key(), write);
        return new PageAllocation(PageOutcome.ALLOCATED, write.replica().id(), write.replica().place());
    }

    /** A value is durable: it is complete, unless it is wanted no more, and its offload has ended. */
    Ack stored(final UUID clientId, final StoredPages value, final long nowMs) {
        final PageWrite write = active.get(value.replicaId());
        if (write == null || !write.is(clientId, value.key(), value.version())) {
            final ObjectEntry entry = tiers.catalogue().find(value.key(), value.version());
            final Residency there = entry == null ? null : entry.residency(Medium.DISTRIBUTED_DISK);
            return there != null && there.find(value.replicaId()) != null ? Ack.OK : Ack.STALE;
        }
        forget(write);
        final ObjectEntry entry = tiers.catalogue().find(value.key(), value.version());
        final boolean wanted = entry != null && entry == write.replica().owner() && tiers.isReadable(entry);
        // When its task was given up meanwhile, what was copied from that memory may be another value by now.
        final boolean held = write.sourceId() == 0 || offloads.isFetched(clientId, write.sourceId());
        final boolean right = wanted && held && DiskReplicas.isOf(entry, value.checksum());
        if (right) {
            tiers.catalogue().replace(entry, entry.record().withChecksum(value.checksum()));
            tiers.pages().completed(write.replica(), nowMs);
        } else {
            stale++;
            drop(write, 0, nowMs);
        }
        endOffload(write, right ? OffloadResult.STORED : wanted ? OffloadResult.VALUE_REFUSED
            : OffloadResult.OBSOLETE, nowMs);
        return right ? Ack.OK : Ack.STALE;
    }

    private void endOffload(final PageWrite write, final OffloadResult result, final long nowMs) {
        final PlacedReplica source = offloads.endStored(write.clientId(), write.sourceId(), result, nowMs);
        if (source != null) {
            tiers.memory().offloadEnded(source, result == OffloadResult.STORED, nowMs);
        }
    }

    /** Pages come back with nothing in them that is to be kept. */
    Ack free(final UUID clientId, final PageRelease release, final long nowMs) {
        final PageWrite write = active.get(release.replicaId());
        if (write == null || !write.is(clientId, release.key(), release.version())) {
            return Ack.STALE;
        }
        forget(write);
        drop(write, release.settled() ? 0 : restUntilMs(write), nowMs);
        return Ack.OK;
    }

    /** A client writes to no pages any more; one that is only thought dead may until its time is over. */
    void clientGone(final UUID clientId, final long nowMs) {
        offloads.unmount(clientId, ReplicaType.DISTRIBUTED_DISK)
            .forEach(source -> tiers.memory().offloadEnded(source, false, nowMs));
        for (final PageWrite write : List.copyOf(active.values())) {
            if (write.clientId().equals(clientId)) {
                reap(write, nowMs);
            }
        }
    }

    /** Reaps what was not spoken of in time. */
    void expire(final long nowMs) {
        while (!active.isEmpty()) {
            final PageWrite oldest = active.values().iterator().next();
            if (nowMs - oldest.startMs() < settings.liveness().releaseMs()) {
                return;
            }
            reap(oldest, nowMs);
        }
    }

    private void reap(final PageWrite write, final long nowMs) {
        reaped++;
        forget(write);
        drop(write, restUntilMs(write), nowMs);
    }

    private long restUntilMs(final PageWrite write) {
        final long over = settings.liveness().overMs(write.startMs());
        return over > Long.MAX_VALUE - settings.leaseMs() ? Long.MAX_VALUE : over + settings.leaseMs();
    }

    private void forget(final PageWrite write) {
        active.remove(write.replica().id());
        byKey.remove(write.key(), write);
    }

    private void drop(final PageWrite write, final long restUntilMs, final long nowMs) {
        tiers.pages().drop(write.replica(), restUntilMs, nowMs);
        tiers.pages().release(write.replica(), nowMs);
    }

    long active() {
        return active.size();
    }

    /** Allocations whose clients were gone, or did not speak of them in time. */
    long reaped() {
        return reaped;
    }

    /** Values that were stored and not wanted any more, or were wrong. */
    long stale() {
        return stale;
    }
}
