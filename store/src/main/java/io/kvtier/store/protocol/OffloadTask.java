package io.kvtier.store.protocol;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import java.util.Objects;

/**
 * A value to copy from memory to disk. Its memory is held until the task is ended: by {@link DiskCommand.OffloadDone},
 * or, when it has been stored in the shared files, by {@link PageCommand.NotifyDistributedDiskSuccess}.
 *
 * @param key       the object.
 * @param version   its version.
 * @param replicaId the memory replica to copy.
 * @param source    where it is.
 * @param target    LOCAL_DISK for the client's own disk, or DISTRIBUTED_DISK for the shared files.
 * @param idleMs    milliseconds from the last use of the value to when the task was named, so that the disk has it in
 *                  its place among those that were used since; no part of which task it is.
 */
public record OffloadTask(ObjectKey key, long version, long replicaId, ReplicaDescriptor.Memory source,
                          ReplicaType target, long idleMs) {
    /**
     * Of a value that has just been used.
     *
     * @param key       the object.
     * @param version   its version.
     * @param replicaId the memory replica to copy.
     * @param source    where it is.
     * @param target    LOCAL_DISK or DISTRIBUTED_DISK.
     */
    public OffloadTask(final ObjectKey key, final long version, final long replicaId,
        final ReplicaDescriptor.Memory source, final ReplicaType target) {
        this(key, version, replicaId, source, target, 0);
    }

    /**
     * For the client's own disk.
     *
     * @param key       the object.
     * @param version   its version.
     * @param replicaId the memory replica to copy.
     * @param source    where it is.
     */
    public OffloadTask(final ObjectKey key, final long version, final long replicaId,
        final ReplicaDescriptor.Memory source) {
        this(key, version, replicaId, source, ReplicaType.LOCAL_DISK);
    }

    /** Whether it is the same task, whenever it was named. */
    @Override
    public boolean equals(final Object other) {
        return other instanceof OffloadTask task && key.equals(task.key) && version == task.version
            && replicaId == task.replicaId && source.equals(task.source) && target == task.target;
    }

    @Override
    public int hashCode() {
        return Objects.hash(key, version, replicaId, source, target);
    }

    /**
     * The same task, named at another time.
     *
     * @param idle milliseconds since the last use of the value.
     * @return the task.
     */
    public OffloadTask withIdle(final long idle) {
        return new OffloadTask(key, version, replicaId, source, target, idle);
    }
}
