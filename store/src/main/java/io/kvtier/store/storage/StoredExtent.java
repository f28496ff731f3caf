package io.kvtier.store.storage;

import io.kvtier.store.ObjectKey;

/**
 * A value in the file of a {@link GdsStorageManager}.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param key         its name.
 * @param version     distinguishes it from earlier and later values of that name.
 * @param extent      where it lies.
 * @param size        bytes of the value, at least 1; the rest of the extent is not defined.
 * @param checksummed whether its checksum is known; what came from a device's memory has none.
 * @param checksum    XXH64 of the value; 0 when it is not known.
 * @param replicaId   what the master calls the replica.
 */
public record StoredExtent(ObjectKey key, long version, Extent extent, long size, boolean checksummed, long checksum,
                           long replicaId) {
    /** The same as another replica. */
    StoredExtent under(final long otherReplicaId) {
        return new StoredExtent(key, version, extent, size, checksummed, checksum, otherReplicaId);
    }
}
