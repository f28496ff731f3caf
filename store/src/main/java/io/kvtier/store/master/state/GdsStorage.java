package io.kvtier.store.master.state;

import io.kvtier.store.protocol.GdsCommand.GdsCounts;
import io.kvtier.store.protocol.GdsCommand.GdsDrop;
import io.kvtier.store.protocol.GdsCommand.GdsStorageInfo;
import io.kvtier.store.protocol.GdsCommand.GdsStorageSpec;
import io.kvtier.store.protocol.ObjectCommand.GdsExtent;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.LongSupplier;
import org.agrona.collections.Long2ObjectHashMap;

/**
 * A client's own file for GDS replicas, from its registration until it is gone.
 *
 * <p>Its owner allocates in it; the allocator of its segment only marks what the owner has taken, so that two replicas
 * can never lie on one range, whatever an owner says. A range is unmarked when its replica is gone and its rest is
 * over; the owner is told so each time, and frees it when that is what lies there: no id of a replica is used twice.
 */
final class GdsStorage {
    private final GdsStorageSpec spec;
    private final LentSegment segment;
    private final SpaceTier tier;
    private final NumberedDrops<GdsDrop> drops;
    private final Effects effects;
    private final boolean forAll;
    /** What is marked, by its first byte. */
    private final Long2ObjectHashMap<PlacedReplica> byOffset = new Long2ObjectHashMap<>();
    /** The drops at each first byte that the owner has not said he has carried out. */
    private final Long2ObjectHashMap<List<GdsDrop>> dropsAt = new Long2ObjectHashMap<>();
    private long puts;
    private long onlyPuts;
    private long adopted;
    private long refused;
    private long settled;
    private final GdsAccount account = new GdsAccount();

    /**
     * A file with nothing in it.
     *
     * @param remote whether there are other clients than its owner.
     */
    GdsStorage(final GdsStorageSpec spec, final LentSegment segment, final SpaceTier tier, final LongSupplier numbers,
        final Effects effects, final boolean remote) {
        this.forAll = !remote || !spec.endpoint().isEmpty();
        this.spec = spec;
        this.segment = segment;
        this.tier = tier;
        this.drops = new NumberedDrops<>(numbers, this::carriedOut);
        this.effects = effects;
    }

    LentSegment segment() {
        return segment;
    }

    SpaceTier tier() {
        return tier;
    }

    NumberedDrops<GdsDrop> drops() {
        return drops;
    }

    UUID storageId() {
        return spec.storageId();
    }

    long generation() {
        return spec.generation();
    }

    boolean is(final UUID storageId, final long generation) {
        return spec.storageId().equals(storageId) && spec.generation() == generation;
    }

    /** Whether every client can read what is in it: one whose owner answers nobody is read by that owner alone. */
    boolean isForAll() {
        return forAll;
    }

    /** The replica that begins at an offset, or null. */
    PlacedReplica at(final long offset) {
        return byOffset.get(offset);
    }

    /**
     * Marks a range for an object; null when something is known to lie there. Who puts something there has freed it
     * before; drops that he has not acknowledged stay nevertheless. They do him no harm, since they name others, and
     * when a put that comes late is one that he has long given up, what lies there now may be what they name.
     */
    PlacedReplica mark(final long replicaId, final ObjectEntry owner, final long size, final GdsExtent extent) {
        final PlacedReplica replica = segment.mark(replicaId, owner, size, extent.offset(), extent.bytes());
        if (replica != null) {
            byOffset.put(extent.offset(), replica);
        }
        return replica;
    }

    /**
     * Marks a range for what its owner has there already; null as above. It was dropped there, perhaps, and is his
     * again under another id: if he did not hear of that id he would take the drop for one of what he has, and free
     * what is complete here.
     */
    PlacedReplica markAgain(final long replicaId, final ObjectEntry owner, final long size, final GdsExtent extent) {
        final PlacedReplica replica = mark(replicaId, owner, size, extent);
        final List<GdsDrop> before = replica == null ? null : dropsAt.remove(extent.offset());
        if (before != null) {
            before.forEach(drops::cancel);
        }
        return replica;
    }

    /** A range was unmarked. */
    void freed(final PlacedReplica replica) {
        byOffset.remove(replica.offset());
        if (segment.isReadable()) {
            final GdsDrop drop = new GdsDrop(replica.offset(), replica.id());
            drops.add(drop);
            dropsAt.computeIfAbsent(replica.offset(), any -> new ArrayList<>(1)).add(drop);
            effects.workQueued(segment.clientId(), WorkKind.GDS_DROPS);
        }
    }

    private void carriedOut(final GdsDrop drop) {
        final List<GdsDrop> there = dropsAt.get(drop.offset());
        there.remove(drop);
        if (there.isEmpty()) {
            dropsAt.remove(drop.offset());
        }
    }

    ReplicaDescriptor.Gds descriptor(final PlacedReplica replica) {
        return new ReplicaDescriptor.Gds(segment.clientId(), spec.storageId(), spec.generation(), replica.offset(),
            replica.size(), replica.allocated());
    }

    void begun(final boolean alone) {
        if (alone) {
            onlyPuts++;
        } else {
            puts++;
        }
    }

    void offered(final boolean taken) {
        if (taken) {
            adopted++;
        } else {
            refused++;
        }
    }

    void asked() {
        settled++;
    }

    GdsCounts counts() {
        return new GdsCounts(puts, onlyPuts, adopted, refused, tier.counts().evictions(), tier.counts().bytes(),
            settled);
    }

    /** What the owner has told. */
    GdsAccount account() {
        return account;
    }

    GdsStorageInfo info() {
        return new GdsStorageInfo(segment.clientId(), spec.storageId(), spec.generation(), spec.endpoint(),
            segment.capacity(), segment.used(), segment.replicas(), counts(), account.work(), account.state());
    }
}
