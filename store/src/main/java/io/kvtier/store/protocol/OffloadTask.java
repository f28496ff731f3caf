package io.kvtier.store.protocol;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.replica.ReplicaDescriptor;

/**
 * A value to copy from memory to disk. Its memory is held until the task is ended.
 *
 * @param key       the object.
 * @param version   its version.
 * @param replicaId the memory replica to copy.
 * @param source    where it is.
 */
public record OffloadTask(ObjectKey key, long version, long replicaId, ReplicaDescriptor.Memory source) {
}
