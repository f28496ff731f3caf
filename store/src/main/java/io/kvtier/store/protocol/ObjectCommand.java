package io.kvtier.store.protocol;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.RemoveOutcome;
import java.util.List;
import java.util.UUID;

/**
 * What concerns an object.
 *
 * @param <R> what the master answers.
 */
public sealed interface ObjectCommand<R> extends Command<R> {
    /** Which replicas of a write an end or a revocation is about. */
    enum Scope {
        /** All that are left. */
        ALL,
        /** Those in memory. */
        MEMORY,
        /** Those on block devices. */
        NOF,
        /** The one in the writer's own file. */
        GDS
    }

    /**
     * Starts a put: allocates room for it. Repeated by the same client for the same attempt it answers the same again.
     *
     * @param clientId the writer.
     * @param attempt  a number that the writer gives to this call and to no other.
     * @param key      the object.
     * @param size     bytes of the value.
     * @param options  how it is stored.
     * @param replace  whether a value that exists is replaced: it stays readable until the new one is complete, except
     *                 that an unused one of the same size is overwritten where it lies.
     */
    record PutStart(UUID clientId, long attempt, ObjectKey key, long size, PutOptions options, boolean replace)
        implements ObjectCommand<PutStartReply> {
    }

    /**
     * Adds a replica in the writer's own file to a put that it has started, PROCESSING like the others: it ends with
     * {@link PutEnd} and {@link PutRevoke} of it. Repeated for the same extent it answers the same again. Refused with
     * UNAVAILABLE_IN_CURRENT_STATUS when the file is not registered, and with INVALID_PARAMS when the extent does not
     * lie in it, is too small, or overlaps another one that the master knows, or when the put has one elsewhere.
     *
     * @param clientId the writer.
     * @param key      the object.
     * @param version  as given by the start.
     * @param extent   where the writer writes it.
     */
    record AddGdsReplicaStart(UUID clientId, ObjectKey key, long version, GdsExtent extent)
        implements ObjectCommand<Long> {
        /** Answer when there is no such put any more; every other one is the replica's id. */
        public static final long STALE = 0;
    }

    /**
     * Starts a put of a value that lies in the writer's own file alone: for one that was just refused room in memory.
     * Repeated by the same client for the same attempt it answers the same again. The answer is never that there is no
     * space; refused as {@link AddGdsReplicaStart}.
     *
     * @param put    what is put, as it was to be started in memory.
     * @param extent where the writer writes it.
     */
    record CreateGdsOnlyObject(PutStart put, GdsExtent extent) implements ObjectCommand<PutStartReply> {
    }

    /**
     * Room in a client's own file.
     *
     * @param storageId  which file.
     * @param generation of the file.
     * @param offset     first byte, a multiple of the unit.
     * @param bytes      length, a multiple of the unit.
     */
    record GdsExtent(UUID storageId, long generation, long offset, long bytes) {
    }

    /**
     * Ends a put: the bytes are all there. The first end makes the object readable.
     *
     * @param clientId    the writer.
     * @param key         the object.
     * @param version     as given by the start.
     * @param scope       which replicas have the bytes.
     * @param checksummed whether {@code checksum} is known.
     * @param checksum    XXH64 of the value.
     */
    record PutEnd(UUID clientId, ObjectKey key, long version, Scope scope, boolean checksummed, long checksum)
        implements ObjectCommand<Ack> {
    }

    /**
     * Gives a put up, or some replicas of it: their room is freed; without any left the key is as it was before.
     *
     * @param clientId the writer.
     * @param key      the object.
     * @param version  as given by the start.
     * @param scope    which replicas are given up.
     * @param settled  whether nothing changes their bytes any more. Otherwise the owner of a segment may still write
     *                 what it was sent: the room is given to nobody else until a write can no longer be under way.
     */
    record PutRevoke(UUID clientId, ObjectKey key, long version, Scope scope, boolean settled)
        implements ObjectCommand<Ack> {
        /**
         * Of which nothing is under way.
         *
         * @param clientId the writer.
         * @param key      the object.
         * @param version  as given by the start.
         * @param scope    which replicas are given up.
         */
        public PutRevoke(final UUID clientId, final ObjectKey key, final long version, final Scope scope) {
            this(clientId, key, version, scope, true);
        }
    }

    /**
     * Asks for the replicas of an object in order to read it; the lease is renewed.
     *
     * @param key  the object.
     * @param hold whether a memory replica is held until the matching {@link ReadDone}: for readers in the master's
     *             own process, who cannot die without it.
     */
    record ReadStart(ObjectKey key, boolean hold) implements ObjectCommand<ReadReply> {
    }

    /**
     * Ends the hold on a memory replica.
     *
     * @param key       the object.
     * @param replicaId the memory replica that the reply named as held.
     */
    record ReadDone(ObjectKey key, long replicaId) implements ObjectCommand<Ack> {
    }

    /**
     * Asks whether a readable object exists, and renews its lease.
     *
     * @param key the object.
     */
    record Exists(ObjectKey key) implements ObjectCommand<Boolean> {
    }

    /**
     * Looks at an object without using it.
     *
     * @param key the object.
     */
    record Query(ObjectKey key) implements ObjectCommand<ReadReply> {
    }

    /**
     * Removes an object.
     *
     * @param key   the object.
     * @param force whether a lease does not keep it.
     */
    record Remove(ObjectKey key, boolean force) implements ObjectCommand<RemoveReply> {
    }

    /**
     * Answer to {@link Remove}.
     *
     * @param outcome what became of it.
     * @param version the version that was removed; 0 when none was.
     */
    record RemoveReply(RemoveOutcome outcome, long version) {
    }

    /**
     * Looks for readable objects, a part of the catalogue at a time.
     *
     * @param tenant  whose; empty for all tenants.
     * @param pattern a regular expression that the key contains a match of; empty for all keys.
     * @param lease   whether the leases of what is found are renewed.
     * @param cursor  0 to begin, then as the last answer said.
     */
    record Find(String tenant, String pattern, boolean lease, long cursor) implements ObjectCommand<FindReply> {
    }

    /**
     * Answer to {@link Find}.
     *
     * @param found  what was found in this part.
     * @param cursor where to go on; {@link #END} when all of the catalogue has been looked at. An object that is there
     *               from the first to the last call is found exactly once.
     */
    record FindReply(List<Found> found, long cursor) {
        /** Nothing is left to look at. */
        public static final long END = -1;
    }

    /**
     * An object that was found.
     *
     * @param key    its name.
     * @param object what is known of it.
     */
    record Found(ObjectKey key, ReadReply object) {
    }

    /**
     * Removes objects by pattern, a part of the catalogue at a time. Those that are leased (unless forced), being
     * written or copied are passed over.
     *
     * @param tenant  whose; empty for all tenants.
     * @param pattern a regular expression that the key contains a match of; empty for all keys.
     * @param force   whether leases do not keep them.
     * @param cursor  0 to begin, then as the last answer said.
     */
    record RemoveMatching(String tenant, String pattern, boolean force, long cursor)
        implements ObjectCommand<RemoveMatchingReply> {
    }

    /**
     * Answer to {@link RemoveMatching}.
     *
     * @param removed how many were removed in this part.
     * @param cursor  where to go on; {@link FindReply#END} at the end.
     */
    record RemoveMatchingReply(long removed, long cursor) {
    }

    /**
     * Drops replicas of objects that a client wrote and nobody has leased.
     *
     * @param clientId who wrote them; others' objects are passed over.
     * @param keys     the objects; unknown ones are passed over.
     * @param segment  name of the segment whose replicas are dropped; empty for all replicas.
     */
    record ReplicaClear(UUID clientId, List<ObjectKey> keys, String segment) implements ObjectCommand<List<ObjectKey>> {
    }

    /**
     * Reports a replica whose bytes could not be read or were wrong. One on a disk, on a block device or in a client's
     * own file is forgotten; one in memory stays, since its owner may only be out of this reader's reach. For the same
     * reason one on a block device, or in another client's file, is reported by who read wrong bytes of it, not by who
     * could not read it.
     *
     * @param key       the object.
     * @param version   the object's version.
     * @param replicaId the replica.
     */
    record ReplicaUnreadable(ObjectKey key, long version, long replicaId) implements ObjectCommand<Ack> {
    }
}
