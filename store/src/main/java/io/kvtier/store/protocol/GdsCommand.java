package io.kvtier.store.protocol;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.ObjectCommand.GdsExtent;
import io.kvtier.transport.HostDetour;
import java.util.List;
import java.util.UUID;
import java.util.function.LongBinaryOperator;

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
     * another generation, takes the place of the one before, with all that is in it. The same file of another client is
     * taken from that one, with all that the master knows to be in it: its process has ended, though the master may not
     * know that yet. Refused with UNAVAILABLE_IN_CURRENT_STATUS from a client that was taken for dead, until it has
     * pinged.
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
    record MakeGdsRoom(UUID clientId, long bytes) implements GdsCommand<GdsRoomReply> {
    }

    /**
     * What became of the wish for room.
     *
     * @param bytes       of the extents of what is dropped.
     * @param mayComeFree whether more may go by itself or be dropped later: what is leased, being written, or rests
     *                    after it was dropped. What goes is among the drops.
     * @param nextMs      milliseconds until the next lease ends, when more can be dropped; 0 when none runs.
     */
    record GdsRoomReply(long bytes, boolean mayComeFree, long nextMs) {
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

    /**
     * Tells what the owner of a registered file has done with it, which the master does not see. Counts are those of a
     * run, from 0 on, so that a report that is lost loses nothing; an owner begins a run with each registration, since
     * it cannot know whether the master still has what it was told before. A report of an earlier run than the last, or
     * about a file that is not registered, is STALE; one that comes behind a later one of its run lowers no count.
     *
     * @param clientId   the owner.
     * @param storageId  which file.
     * @param generation of the file.
     * @param run        greater than that of any earlier run of this client.
     * @param work       what was done in it.
     * @param state      how the file is now.
     */
    record ReportGdsWork(UUID clientId, UUID storageId, long generation, long run, GdsWork work, GdsState state)
        implements GdsCommand<Ack> {
    }

    /**
     * What the owner of a file has done with it.
     *
     * @param puts          values written there beside memory.
     * @param onlyPuts      values written there alone.
     * @param writtenBytes  value bytes of both.
     * @param reads         gets answered from it, of the owner and of others.
     * @param readBytes     value bytes read from it.
     * @param noRoom        puts that found no room in it.
     * @param refused       puts whose room the master refused, or did not answer about.
     * @param writeFailures writes that failed.
     * @param readFailures  reads that failed.
     * @param staleReads    reads of what was not there any more.
     */
    record GdsWork(long puts, long onlyPuts, long writtenBytes, long reads, long readBytes, long noRoom, long refused,
                   long writeFailures, long readFailures, long staleReads) {
        /** Nothing done. */
        public static final GdsWork NONE = new GdsWork(0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

        /**
         * Both together.
         *
         * @param other of another file, or run.
         * @return sums.
         */
        public GdsWork plus(final GdsWork other) {
            return with(other, Long::sum);
        }

        /**
         * What came since.
         *
         * @param earlier an earlier count of the same.
         * @return differences.
         */
        public GdsWork since(final GdsWork earlier) {
            return with(earlier, (now, then) -> now - then);
        }

        /**
         * The later of two counts of the same, whichever comes first.
         *
         * @param other the other one.
         * @return the greater number of each.
         */
        public GdsWork latest(final GdsWork other) {
            return with(other, Math::max);
        }

        private GdsWork with(final GdsWork other, final LongBinaryOperator join) {
            return new GdsWork(join.applyAsLong(puts, other.puts), join.applyAsLong(onlyPuts, other.onlyPuts),
                join.applyAsLong(writtenBytes, other.writtenBytes), join.applyAsLong(reads, other.reads),
                join.applyAsLong(readBytes, other.readBytes), join.applyAsLong(noRoom, other.noRoom),
                join.applyAsLong(refused, other.refused), join.applyAsLong(writeFailures, other.writeFailures),
                join.applyAsLong(readFailures, other.readFailures), join.applyAsLong(staleReads, other.staleReads));
        }
    }

    /**
     * How a file is, as its owner sees it.
     *
     * @param used      bytes taken in it, by whatever.
     * @param values    values in it that can be read.
     * @param uncertain extents of which the owner does not know whether the master has them, or whether a device still
     *                  uses them.
     * @param detour    whether what moves the bytes of a GPU takes them through memory of the host.
     * @param way       what moves the bytes, in words.
     */
    record GdsState(long used, long values, long uncertain, HostDetour detour, String way) {
        /** Nothing is known yet. */
        public static final GdsState UNKNOWN = new GdsState(0, 0, 0, HostDetour.NONE, "");
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
     * @param counts     what has happened, as the master sees it.
     * @param work       what its owner has told of what it did.
     * @param state      how it is, as its owner has told last.
     */
    record GdsStorageInfo(UUID clientId, UUID storageId, long generation, String endpoint, long capacity, long used,
                          long replicas, GdsCounts counts, GdsWork work, GdsState state) {
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
