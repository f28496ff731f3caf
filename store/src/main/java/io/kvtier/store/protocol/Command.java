package io.kvtier.store.protocol;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.RemoveOutcome;
import java.util.List;
import java.util.UUID;

/**
 * Something that happens to the master's state.
 *
 * @param <R> what the master answers.
 */
public sealed interface Command<R> {
    /**
     * Lends a memory segment to the store.
     *
     * @param clientId    its owner.
     * @param segmentId   its id, unique.
     * @param capacity    bytes.
     * @param unit        bytes; every allocation is a multiple of it.
     */
    record MountSegment(UUID clientId, long segmentId, long capacity, long unit) implements Command<Ack> {
    }

    /**
     * Offers a client's own disk for offload.
     *
     * @param clientId its owner.
     */
    record MountLocalDisk(UUID clientId) implements Command<Ack> {
    }

    /**
     * Starts a put: allocates memory for it.
     *
     * @param key  the object.
     * @param size bytes of the value.
     */
    record PutStart(ObjectKey key, long size) implements Command<PutStartReply> {
    }

    /**
     * Ends a put: the bytes are all there.
     *
     * @param key     the object.
     * @param version as given by the start.
     */
    record PutEnd(ObjectKey key, long version) implements Command<Ack> {
    }

    /**
     * Gives a put up: its memory is freed, the key is free again.
     *
     * @param key     the object.
     * @param version as given by the start.
     */
    record PutRevoke(ObjectKey key, long version) implements Command<Ack> {
    }

    /**
     * Asks for the replicas of an object in order to read it. A memory replica is held until the matching
     * {@link ReadDone}; the lease is renewed.
     *
     * @param key the object.
     */
    record ReadStart(ObjectKey key) implements Command<ReadReply> {
    }

    /**
     * Ends the hold on a memory replica.
     *
     * @param key       the object.
     * @param replicaId the memory replica that the reply listed.
     */
    record ReadDone(ObjectKey key, long replicaId) implements Command<Ack> {
    }

    /**
     * Asks whether a readable object exists, and renews its lease.
     *
     * @param key the object.
     */
    record Exists(ObjectKey key) implements Command<Boolean> {
    }

    /**
     * Looks at an object without using it.
     *
     * @param key the object.
     */
    record Query(ObjectKey key) implements Command<ReadReply> {
    }

    /**
     * Removes an object.
     *
     * @param key   the object.
     * @param force whether a lease does not keep it.
     */
    record Remove(ObjectKey key, boolean force) implements Command<RemoveReply> {
    }

    /**
     * Fetches what a client shall copy to its disk. Each task must be answered by {@link OffloadDone}.
     *
     * @param clientId the client.
     * @param maxBytes value bytes at most, but at least one task when there is one.
     */
    record FetchOffloads(UUID clientId, long maxBytes) implements Command<List<OffloadTask>> {
    }

    /**
     * Ends an offload task.
     *
     * @param clientId the client.
     * @param task     the task.
     * @param result   what became of it.
     * @param checksum XXH64 of the value where it was stored.
     */
    record OffloadDone(UUID clientId, OffloadTask task, OffloadResult result, long checksum)
        implements Command<Ack> {
    }

    /**
     * Asks for memory for a value that was found on disk. Never waits.
     *
     * @param key     the object.
     * @param version the object's version.
     */
    record PromotionStart(ObjectKey key, long version) implements Command<PromotionReply> {
    }

    /**
     * Ends a promotion.
     *
     * @param key       the object.
     * @param replicaId as given by the start.
     * @param success   whether the bytes are all there; else the memory is freed.
     */
    record PromotionEnd(ObjectKey key, long replicaId, boolean success) implements Command<Ack> {
    }

    /**
     * Reports a replica whose bytes could not be read or were wrong; the master forgets it.
     *
     * @param key       the object.
     * @param version   the object's version.
     * @param replicaId the replica.
     */
    record ReplicaUnreadable(ObjectKey key, long version, long replicaId) implements Command<Ack> {
    }

    /**
     * Asks which values a client may drop from its disk to make room. Those that are allowed are forgotten at once.
     *
     * @param clientId the client.
     * @param values   candidates, oldest first.
     */
    record EvictDisk(UUID clientId, List<StoredObject> values) implements Command<List<Boolean>> {
    }

    /**
     * Offers what a client found on its disk after a restart, oldest first.
     *
     * @param clientId the client.
     * @param values   what it found.
     */
    record AdoptDisk(UUID clientId, List<StoredObject> values) implements Command<List<Boolean>> {
    }

    /** Asks for counters. */
    record Statistics() implements Command<MasterStats> {
    }

    /** An answer that is only a code. */
    enum Ack {
        /** Done. */
        OK,
        /** There is no such object, version, replica or task any more; nothing was done. */
        STALE
    }

    /**
     * A value on a client's disk.
     *
     * @param key      the object.
     * @param version  its version.
     * @param size     bytes of the value.
     * @param checksum XXH64 of the value.
     */
    record StoredObject(ObjectKey key, long version, long size, long checksum) {
    }

    /** What became of an offload. */
    enum OffloadResult {
        /** The value is durable on the disk. */
        STORED,
        /** The value was removed while it was being copied; nothing of it is left on the disk. */
        OBSOLETE,
        /** This value cannot be stored there, others can. */
        VALUE_REFUSED,
        /** The disk failed or has no room; nothing should be sent for a while. */
        DISK_FAILED
    }

    /**
     * Answer to {@link Remove}.
     *
     * @param outcome what became of it.
     * @param version the version that was removed; 0 when none was.
     */
    record RemoveReply(RemoveOutcome outcome, long version) {
    }
}
