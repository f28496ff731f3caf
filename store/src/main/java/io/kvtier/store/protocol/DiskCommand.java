package io.kvtier.store.protocol;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.util.List;
import java.util.UUID;

/**
 * What concerns clients' own disks, and copies down and up a tier wherever they go to or come from.
 *
 * @param <R> what the master answers.
 */
public sealed interface DiskCommand<R> extends Command<R> {
    /**
     * Offers a client's own disk for offload. Repeated, it changes nothing. Refused with UNAVAILABLE_IN_CURRENT_STATUS
     * from a client that was taken for dead, until it has pinged.
     *
     * @param clientId its owner.
     * @param endpoint host and port where the owner answers reads; empty for the process that embeds the master.
     * @param capacity bytes.
     */
    record MountDisk(UUID clientId, String endpoint, long capacity) implements DiskCommand<Ack> {
    }

    /**
     * Takes a disk back: what is on it is forgotten, and no more tasks are given.
     *
     * @param clientId its owner.
     */
    record UnmountDisk(UUID clientId) implements DiskCommand<Ack> {
    }

    /**
     * Fetches what a client shall copy to its disk. Each task must be answered by {@link OffloadDone}; one that is not
     * in the time of a write has failed, and a later answer is STALE. What was fetched before and is not answered comes
     * first, once more, since the reply that named it may be lost; so a client answers all that it has before it
     * fetches again.
     *
     * @param clientId the client.
     * @param maxBytes value bytes at most, but at least one task when there is one.
     */
    record FetchOffloads(UUID clientId, long maxBytes) implements DiskCommand<List<OffloadTask>> {
    }

    /**
     * Ends an offload task. STALE says that the value is to be removed from the disk again: it was removed or replaced
     * meanwhile, or what was stored is not what its writer wrote.
     *
     * @param clientId the client.
     * @param task     the task.
     * @param result   what became of it.
     * @param checksum XXH64 of the value where it was stored.
     */
    record OffloadDone(UUID clientId, OffloadTask task, OffloadResult result, long checksum)
        implements DiskCommand<Ack> {
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
     * Asks for memory for a value that was found on disk. Never waits.
     *
     * @param clientId who copies it up.
     * @param key      the object.
     * @param version  the object's version.
     */
    record PromotionStart(UUID clientId, ObjectKey key, long version) implements DiskCommand<PromotionReply> {
    }

    /**
     * Ends a promotion.
     *
     * @param clientId  who started it.
     * @param key       the object.
     * @param replicaId as given by the start.
     * @param success   whether the bytes are all there; else the memory is freed.
     * @param settled   without success: whether nothing changes the bytes there any more; see
     *                  {@link ObjectCommand.PutRevoke}.
     */
    record PromotionEnd(UUID clientId, ObjectKey key, long replicaId, boolean success, boolean settled)
        implements DiskCommand<Ack> {
        /**
         * Of which nothing is under way.
         *
         * @param clientId  who started it.
         * @param key       the object.
         * @param replicaId as given by the start.
         * @param success   whether the bytes are all there.
         */
        public PromotionEnd(final UUID clientId, final ObjectKey key, final long replicaId, final boolean success) {
            this(clientId, key, replicaId, success, true);
        }
    }

    /**
     * Asks which values a client may drop from its disk to make room. Those that are allowed are forgotten at once.
     *
     * @param clientId the client.
     * @param values   candidates, oldest first.
     * @param copies   whether only such are to go as have another copy that every client can read: what was copied up
     *                 to memory need not be kept twice while others want the room.
     */
    record EvictDisk(UUID clientId, List<StoredObject> values, boolean copies)
        implements DiskCommand<List<Boolean>> {
        /**
         * Of any values.
         *
         * @param clientId the client.
         * @param values   candidates, oldest first.
         */
        public EvictDisk(final UUID clientId, final List<StoredObject> values) {
            this(clientId, values, false);
        }
    }

    /**
     * Offers what a client found on its disk after a restart, oldest first. Refused are values whose key has another
     * version or whose checksum is another one, and such as may have been removed or replaced meanwhile; the client
     * removes those.
     *
     * @param clientId the client.
     * @param values   what it found.
     */
    record AdoptDisk(UUID clientId, List<StoredObject> values) implements DiskCommand<List<Boolean>> {
    }

    /**
     * Fetches values that were removed or replaced and still lie on a client's disk. They are named again until the
     * client says that they are gone, since the reply that named them may be lost; so a client removes what was named
     * before it says so, and one that is named again is removed again. One that comes back to the disk meanwhile, under
     * the same version, is not named any more.
     *
     * @param clientId the client.
     * @param max      most values.
     * @param done     {@link Drops#last} of the last reply whose values are gone; 0 for none, {@link #ALL_NAMED} for
     *                 whatever was named before, as a client means that does not know better.
     */
    record FetchDrops(UUID clientId, int max, long done) implements DiskCommand<Drops> {
        /** What was named before is gone, also what was named in a reply that was lost. */
        public static final long ALL_NAMED = -1;
    }

    /**
     * Values to remove.
     *
     * @param values oldest first; empty when there are none.
     * @param last   a number that says of these and of all before that they are gone, in the next {@link FetchDrops}.
     *               No other disk, mount or master gives it again.
     */
    record Drops(List<StoredVersion> values, long last) {
    }

    /** Asks where files of single values are. Their folder, absolute, is the answer; empty when the master has none. */
    record QueryKeyFolder() implements DiskCommand<String> {
    }

    /**
     * Says that a client has the folder of files of single values, and writes and deletes there. Repeated, it changes
     * nothing but the capacity. Refused as {@link MountDisk}; STALE when this master has no such folder.
     *
     * @param clientId the client.
     * @param capacity bytes of the file system that the folder is on, used or not; 0 when that is not known.
     */
    record MountKeyFiles(UUID clientId, long capacity) implements DiskCommand<Ack> {
    }

    /**
     * A client writes no more files of single values; what it was to write is not written.
     *
     * @param clientId the client.
     */
    record UnmountKeyFiles(UUID clientId) implements DiskCommand<Ack> {
    }

    /**
     * Fetches what a client is to write to files of single values. What it has not answered is named again; so it
     * answers all that it has before it fetches again.
     *
     * @param clientId the client.
     * @param max      most values.
     */
    record FetchKeyFiles(UUID clientId, int max) implements DiskCommand<List<KeyFileTask>> {
    }

    /**
     * A value that is to have a file. Its memory is held until {@link KeyFileWritten}, or the time of a write is over.
     *
     * @param replicaId of the task.
     * @param key       the object.
     * @param version   its version.
     * @param source    where it is.
     * @param filePath  the file, absolute; its folder may have to be made.
     */
    record KeyFileTask(long replicaId, ObjectKey key, long version, ReplicaDescriptor.Memory source,
                       String filePath) {
    }

    /** How a write to a file has ended. */
    enum KeyFileResult {
        /** Nothing of it is there. */
        FAILED,
        /** It is there, whole and durable. */
        WRITTEN,
        /** Nothing of it is there, since the file system is full. */
        NO_ROOM
    }

    /**
     * Ends a write. STALE says that the file is to be deleted.
     *
     * @param clientId  the client.
     * @param replicaId of the task.
     * @param result    how it has ended.
     * @param checksum  XXH64 of the value where it is.
     */
    record KeyFileWritten(UUID clientId, long replicaId, KeyFileResult result, long checksum)
        implements DiskCommand<Ack> {
    }

    /**
     * Fetches files that are to be deleted, from any client that has the folder. They are named again, to others too,
     * until one says that they are gone.
     *
     * @param clientId the client.
     * @param max      most files.
     * @param done     {@link KeyFileDrops#last} of the last reply whose files are gone; 0 for none.
     */
    record FetchKeyFileDrops(UUID clientId, int max, long done) implements DiskCommand<KeyFileDrops> {
    }

    /**
     * Files to delete.
     *
     * @param paths oldest first; empty when there are none.
     * @param last  a number that says of these and of all before that they are gone.
     * @param sweep whether this client is to ask about all files of the folder, and to delete those that are not known.
     */
    record KeyFileDrops(List<String> paths, long last, boolean sweep) {
    }

    /**
     * Asks which files may not be deleted: those of replicas, of values that are being written, and those whose names
     * were given by this master or a later one.
     *
     * @param clientId the client.
     * @param paths    absolute; at most {@link Batch#MAX_ITEMS}.
     * @param last     whether this client has asked about all files of the folder, and deleted those that it was to,
     *                 before this command: then nobody else is asked to.
     */
    record FindKeyFiles(UUID clientId, List<String> paths, boolean last) implements DiskCommand<List<Boolean>> {
    }

    /**
     * A version of an object.
     *
     * @param key     the object.
     * @param version its version.
     */
    record StoredVersion(ObjectKey key, long version) {
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
}
