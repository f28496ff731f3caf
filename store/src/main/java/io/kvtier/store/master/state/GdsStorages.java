package io.kvtier.store.master.state;

import io.kvtier.alloc.Units;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.GdsCommand.GdsCounts;
import io.kvtier.store.protocol.GdsCommand.GdsState;
import io.kvtier.store.protocol.GdsCommand.GdsStorageInfo;
import io.kvtier.store.protocol.GdsCommand.GdsStorageSpec;
import io.kvtier.store.protocol.GdsCommand.GdsWork;
import io.kvtier.store.protocol.MasterStats.GdsTold;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.GdsExtent;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.SegmentSpec;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.store.snapshot.SavedFile;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** The clients' own files for GDS replicas that are registered, one a client. */
final class GdsStorages {
    private final SpaceTier.Owners owners;
    private final Map<UUID, GdsStorage> registered = new LinkedHashMap<>();
    /** Of a drop; beyond those that another master's drops may have had, as replica ids are. */
    private long lastDrop;
    /** Of files that are not registered any more. */
    private GdsCounts past = GdsCounts.NONE;
    private GdsWork pastWork = GdsWork.NONE;

    GdsStorages(final SpaceTier.Owners owners) {
        this.owners = owners;
        this.lastDrop = owners.catalogue().lastReplicaId();
    }

    /**
     * Adds a file, unless it is there; another one of the client goes. So does the same file of another client: a file
     * is locked by the process that has it open, so that the other process has ended, though that may not be known
     * yet. Were it kept, all that the file's new owner offers would be there already, and be refused.
     */
    void register(final UUID clientId, final String host, final GdsStorageSpec spec) {
        final GdsStorage known = registered.get(clientId);
        if (known != null && known.is(spec.storageId(), spec.generation())) {
            return;
        }
        check(spec);
        // What cannot be one is refused before anything goes for it.
        final LentSegment segment = segment(clientId, host, spec);
        if (known != null) {
            remove(clientId);
        }
        final UUID former = ownerOf(spec.storageId());
        if (former != null) {
            remove(former);
        }
        final double capacity = spec.capacity();
        final GdsStorage storage = new GdsStorage(spec, segment, SpaceTier.ofFile(segment, spec.highBytes() / capacity,
            (spec.highBytes() - spec.lowBytes()) / capacity, owners), () -> ++lastDrop, owners.effects(),
            owners.settings().remoteReaders());
        segment.gds(storage);
        registered.put(clientId, storage);
        owners.segments().mount(segment);
    }

    private LentSegment segment(final UUID clientId, final String host, final GdsStorageSpec spec) {
        final UUID segmentId = new UUID(0, owners.catalogue().nextReplicaId());
        try {
            return new LentSegment(clientId, host, new SegmentSpec(spec.storageId().toString(), Medium.GDS,
                spec.capacity(), ReplicaDescriptor.Gds.UNIT_BYTES, SegmentAddress.local(segmentId), true), 0);
        } catch (final IllegalArgumentException e) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "GDS storage " + spec.storageId() + " of "
                + spec.capacity() + " bytes cannot be registered: " + e.getMessage(), e);
        }
    }

    /** Whose file that is; null when nobody has registered it. */
    UUID ownerOf(final UUID storageId) {
        for (final Map.Entry<UUID, GdsStorage> entry : registered.entrySet()) {
            if (entry.getValue().storageId().equals(storageId)) {
                return entry.getKey();
            }
        }
        return null;
    }

    private static void check(final GdsStorageSpec spec) {
        if (spec.generation() < 1) {
            throw invalid(spec, "has generation " + spec.generation() + "; it must be 1 or more");
        }
        if (spec.capacity() < ReplicaDescriptor.Gds.UNIT_BYTES
            || spec.capacity() % ReplicaDescriptor.Gds.UNIT_BYTES != 0) {
            throw invalid(spec, "has " + spec.capacity() + " bytes; it must have a positive multiple of "
                + ReplicaDescriptor.Gds.UNIT_BYTES);
        }
        if (spec.lowBytes() < 0 || spec.lowBytes() > spec.highBytes() || spec.highBytes() > spec.capacity()) {
            throw invalid(spec, "has watermarks of " + spec.lowBytes() + " and " + spec.highBytes()
                + " bytes; the low one must be at most the high one, and that at most its capacity, "
                + spec.capacity());
        }
    }

    private static StoreException invalid(final GdsStorageSpec spec, final String why) {
        return new StoreException(ErrorCode.INVALID_PARAMS, "GDS storage " + spec.storageId() + ' ' + why);
    }

    /** Forgets a client's file and hides what is in it; false when it has none. */
    boolean remove(final UUID clientId) {
        final GdsStorage storage = registered.remove(clientId);
        if (storage == null) {
            return false;
        }
        past = past.plus(storage.counts());
        pastWork = pastWork.plus(storage.account().work());
        owners.segments().unmount(storage.segment());
        return true;
    }

    /** A client's file, or null. */
    GdsStorage find(final UUID clientId) {
        return registered.get(clientId);
    }

    /** Whether a client has exactly this file registered. */
    boolean has(final UUID clientId, final UUID storageId, final long generation) {
        final GdsStorage storage = registered.get(clientId);
        return storage != null && storage.is(storageId, generation);
    }

    /**
     * Takes note of a range that a client has allocated for a value that is being written; held for its writer.
     *
     * @throws StoreException when that cannot be one; nothing has changed then.
     */
    PlacedReplica place(final ObjectEntry entry, final UUID clientId, final long size, final GdsExtent extent,
        final long nowMs) {
        final GdsStorage storage = require(entry.key(), clientId, size, extent);
        final PlacedReplica replica = storage.mark(owners.catalogue().nextReplicaId(), entry, size, extent);
        if (replica == null) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "the extent of " + extent.bytes() + " bytes at "
                + extent.offset() + " for " + entry.key() + " overlaps another one of GDS storage "
                + extent.storageId() + " that the master knows; allocate another one");
        }
        storage.tier().marked(replica, nowMs);
        return replica;
    }

    /** The id of the replica that a put has in its writer's file already, when that is the one that is to be added. */
    static long same(final PlacedReplica known, final ObjectCommand.AddGdsReplicaStart add) {
        final GdsStorage storage = known.segment().gds();
        final GdsExtent there =
            new GdsExtent(storage.storageId(), storage.generation(), known.offset(), known.allocated());
        if (!there.equals(add.extent())) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "the put of " + add.key() + " has a GDS replica in "
                + there + " already, and " + add.extent() + " was given for another one; revoke that one first");
        }
        return known.id();
    }

    private GdsStorage require(final ObjectKey key, final UUID clientId, final long size, final GdsExtent extent) {
        final GdsStorage storage = registered.get(clientId);
        if (storage == null || !storage.is(extent.storageId(), extent.generation())) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "client " + clientId
                + " has no GDS storage " + extent.storageId() + " of generation " + extent.generation()
                + " registered; register it first");
        }
        final String problem = problemOf(storage, size, extent);
        if (problem != null) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "the extent for " + key + " cannot be one: " + problem);
        }
        return storage;
    }

    /** What is wrong with an extent for a value; null when nothing is. */
    static String problemOf(final GdsStorage storage, final long size, final GdsExtent extent) {
        try {
            ReplicaDescriptor.Gds.requireExtent(extent.offset(), size, extent.bytes());
        } catch (final IllegalArgumentException e) {
            return e.getMessage();
        }
        if (extent.offset() + extent.bytes() > storage.segment().capacity()) {
            return "it ends at " + (extent.offset() + extent.bytes()) + ", behind the storage's end at "
                + storage.segment().capacity();
        }
        final long needed = Units.taken(size, ReplicaDescriptor.Gds.UNIT_BYTES);
        return extent.bytes() == needed ? null
            : "it has " + extent.bytes() + " bytes, a value of " + size + " takes " + needed;
    }

    /** Takes note of leases that have ended; true when there are more than one call takes note of. */
    boolean expireLeases(final long nowMs) {
        boolean more = false;
        for (final GdsStorage storage : registered.values()) {
            more |= storage.tier().expireLeases(nowMs);
        }
        return more;
    }

    List<GdsStorageInfo> list() {
        return registered.values().stream().map(GdsStorage::info).toList();
    }

    /** Those that are registered, for a snapshot. */
    List<SavedFile> save() {
        return registered.values().stream().map(GdsStorage::save).toList();
    }

    int size() {
        return registered.size();
    }

    /** Replicas in files that somebody holds: their writers. */
    long held() {
        long held = 0;
        for (final GdsStorage storage : registered.values()) {
            held += storage.tier().held();
        }
        return held;
    }

    /** Of all files, those that are gone included. */
    GdsCounts counts() {
        GdsCounts sum = past;
        for (final GdsStorage storage : registered.values()) {
            sum = sum.plus(storage.counts());
        }
        return sum;
    }

    /** What owners have told; of work, those of files that are gone included. */
    GdsTold told() {
        GdsWork work = pastWork;
        long values = 0;
        long uncertain = 0;
        long detours = 0;
        for (final GdsStorage storage : registered.values()) {
            final GdsState state = storage.account().state();
            work = work.plus(storage.account().work());
            values += state.values();
            uncertain += state.uncertain();
            detours += state.isThroughHost() ? 1 : 0;
        }
        return new GdsTold(work, values, uncertain, detours);
    }
}
