package io.kvtier.store.protocol;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.ObjectCommand.GdsExtent;
import java.util.List;
import java.util.UUID;

/**
 * What concerns clients' own files for GDS replicas, beside {@link ObjectCommand.AddGdsReplicaStart} and
 * {@link ObjectCommand.CreateGdsOnlyObject}.
 *
 * <p>The owner of a file allocates in it; the master knows what lies where, decides what goes, and tells the owner,
 * who frees an extent when it has been told and nobody reads it any more. Of an extent of which it does not know
 * whether the master has it, since an answer was lost, the owner asks with {@link SettleGdsExtents}.
 *
 * @param <R> what the master answers.
 */
public sealed interface GdsCommand<R> extends Command<R> {
    /**
     * Registers a client's file, empty to the master. Repeated for the same file it changes nothing; another file, or
     * another generation, takes the place of the one before, with all that is in it. Refused with
     * UNAVAILABLE_IN_CURRENT_STATUS from a client that was taken for dead, until it has pinged, and from one whose file
     * another client has registered that became known after it: that one has the file open now.
     *
     * @param clientId its owner.
     * @param storage  the file.
     */
    record RegisterGdsStorage(UUID clientId, GdsStorageSpec storage) implements GdsCommand<Ack> {
    }

    /**
     * A file to be registered.
     *
     * @param storageId  which file.
     * @param generation 1 or more; of the file since it was made.
     * @param endpoint   host and port where its owner answers reads of others; empty when it does not.
     * @param capacity   bytes, a multiple of the unit.
     * @param highBytes  bytes in use above which the values used longest ago are dropped.
     * @param lowBytes   bytes down to which they are.
     */
    record GdsStorageSpec(UUID storageId, long generation, String endpoint, long capacity, long highBytes,
                          long lowBytes) {
    }

    /**
     * Takes a file back: what is in it is forgotten. STALE when it is not registered.
     *
     * @param clientId   its owner.
     * @param storageId  which file.
     * @param generation of the file.
     */
    record UnregisterGdsStorage(UUID clientId, UUID storageId, long generation) implements GdsCommand<Ack> {
    }

    /**
     * Offers what lies in a registered file, oldest first: found there after a restart, or forgotten by the master.
     * Refused are values whose key has another version, that have a GDS replica already, or that may have been removed
     * or replaced meanwhile; their owner frees them. A value that the master knows to be where it is offered is taken.
     *
     * @param clientId the owner.
     * @param values   what it has.
     */
    record AdoptGdsReplicas(UUID clientId, List<GdsValue> values) implements GdsCommand<List<Long>> {
        /** Answer for a value that is refused; every other one is the replica's id. */
        public static final long REFUSED = 0;
    }

    /**
     * A value in a file.
     *
     * @param key         the object.
     * @param version     its version.
     * @param size        bytes of the value.
     * @param extent      where it is.
     * @param checksummed whether {@code checksum} is known.
     * @param checksum    XXH64 of the value.
     */
    record GdsValue(ObjectKey key, long version, long size, GdsExtent extent, boolean checksummed, long checksum) {
    }

    /**
     * Asks what has become of extents that were offered to the master in a put and whose writes to the file have ended,
     * well or not, without the owner having heard how. A put of one that has not ended is given up: the extent as if it
     * were revoked, settled; what the put has besides, as if it were revoked and not settled.
     *
     * @param clientId the owner.
     * @param extents  which.
     */
    record SettleGdsExtents(UUID clientId, List<UnsettledExtent> extents) implements GdsCommand<List<Settlement>> {
    }

    /**
     * An extent of which its owner does not know whether the master has it. A put that is under way there now with
     * another replica is not the one that is asked about: the question has come late, and the put goes on.
     *
     * @param key       the object that was put.
     * @param extent    where.
     * @param replicaId what the master called the replica when it accepted it; 0 when that was not heard.
     */
    record UnsettledExtent(ObjectKey key, GdsExtent extent, long replicaId) {
    }

    /**
     * What the master knows of an extent.
     *
     * @param replicaId the replica that lies there; 0 for none: the extent is the owner's to free.
     * @param version   of its object, when it is complete; 0 for one that is not and never will be: it is among the
     *                  drops as soon as it may be freed.
     */
    record Settlement(long replicaId, long version) {
        /** Nothing. */
        public static final Settlement FREE = new Settlement(0, 0);
    }

    /**
     * Makes room in a file: drops the values in it that were used longest ago and that are neither leased nor pinned.
     * They are among the next drops.
     *
     * @param clientId the owner.
     * @param bytes    how much is needed.
     */
    record MakeGdsRoom(UUID clientId, long bytes) implements GdsCommand<Long> {
    }

    /**
     * Fetches extents whose replicas the master has dropped and whose rest is over. As with
     * {@link DiskCommand.FetchDrops} they are named again until the client says that it has taken note.
     *
     * @param clientId the owner.
     * @param max      most extents.
     * @param done     {@link GdsDrops#last} of the last reply that was carried out; 0 for none.
     */
    record FetchGdsDrops(UUID clientId, int max, long done) implements GdsCommand<GdsDrops> {
    }

    /**
     * Extents to free.
     *
     * @param extents oldest first.
     * @param last    a number that says of these and of all before that they are gone, in the next
     *                {@link FetchGdsDrops}. No other file, registration or master gives it again.
     */
    record GdsDrops(List<GdsDrop> extents, long last) {
    }

    /**
     * A replica that was dropped.
     *
     * @param offset    first byte of its extent.
     * @param replicaId its id, by which the owner knows whether that is what lies there now.
     */
    record GdsDrop(long offset, long replicaId) {
    }

    /** Lists the registered files. */
    record GdsStorages() implements GdsCommand<List<GdsStorageInfo>> {
    }

    /**
     * What is known of a file.
     *
     * @param clientId   its owner.
     * @param storageId  which file.
     * @param generation of the file.
     * @param endpoint   where its owner answers reads of others; empty when it does not.
     * @param capacity   bytes.
     * @param used       bytes that the master knows to be in use.
     * @param replicas   replicas in it, those being written included.
     * @param counts     what has happened.
     */
    record GdsStorageInfo(UUID clientId, UUID storageId, long generation, String endpoint, long capacity, long used,
                          long replicas, GdsCounts counts) {
    }

    /**
     * What has happened to files since they were registered.
     *
     * @param puts         replicas that were begun beside others.
     * @param onlyPuts     objects that were begun in a file alone.
     * @param adopted      replicas that were offered and taken.
     * @param refused      offers that were not.
     * @param evictions    replicas dropped to make room.
     * @param evictedBytes bytes of their extents.
     * @param settled      extents whose owner asked what had become of them.
     */
    record GdsCounts(long puts, long onlyPuts, long adopted, long refused, long evictions, long evictedBytes,
                     long settled) {
        /** Nothing counted. */
        public static final GdsCounts NONE = new GdsCounts(0, 0, 0, 0, 0, 0, 0);

        /**
         * Both together.
         *
         * @param other of another file.
         * @return sums.
         */
        public GdsCounts plus(final GdsCounts other) {
            return new GdsCounts(puts + other.puts, onlyPuts + other.onlyPuts, adopted + other.adopted,
                refused + other.refused, evictions + other.evictions,
                evictedBytes + other.evictedBytes, settled + other.settled);
        }
    }
}
