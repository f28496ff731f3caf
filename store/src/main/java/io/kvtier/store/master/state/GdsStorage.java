package io.kvtier.store.master.state;

import io.kvtier.store.protocol.GdsCommand.GdsCounts;
import io.kvtier.store.protocol.GdsCommand.GdsDrop;
import io.kvtier.store.protocol.GdsCommand.GdsStorageInfo;
import io.kvtier.store.protocol.GdsCommand.GdsStorageSpec;
import io.kvtier.store.protocol.ObjectCommand.GdsExtent;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.ReplicaDescriptor;
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
    /** The last drop of each range that the owner has not said is free. */
    private final Long2ObjectHashMap<GdsDrop> dropAt = new Long2ObjectHashMap<>();
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
        this.drops = new NumberedDrops<>(numbers, gone -> dropAt.remove(gone.offset(), gone));
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

    /** Marks a range for an object; null when something is known to lie there. */
    PlacedReplica mark(final long replicaId, final ObjectEntry owner, final long size, final GdsExtent extent) {
        final PlacedReplica replica = segment.mark(replicaId, owner, size, extent.offset(), extent.bytes());
        if (replica != null) {
            byOffset.put(extent.offset(), replica);
            cancelDrop(extent.offset());
        }
        return replica;
    }

    /**
     * The owner still has what was dropped there, and it is his again under another id. If he did not hear of that id
     * he would take the drop for one of what he has, and free what is complete here.
     */
    private void cancelDrop(final long offset) {
        final GdsDrop drop = dropAt.remove(offset);
        if (drop != null) {
            drops.cancel(drop);
        }
    }

    /** A range was unmarked. */
    void freed(final PlacedReplica replica) {
        byOffset.remove(replica.offset());
        if (segment.isReadable()) {
            final GdsDrop drop = new GdsDrop(replica.offset(), replica.id());
            drops.add(drop);
            dropAt.put(replica.offset(), drop);
            effects.workQueued(segment.clientId(), WorkKind.GDS_DROPS);
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
