package io.kvtier.store.replica;

import java.util.UUID;

/** What a client needs to reach a replica. */
public sealed interface ReplicaDescriptor {
    /**
     * The kind of medium.
     *
     * @return the kind.
     */
    ReplicaType type();

    /**
     * A range of a memory segment that a client lends.
     *
     * @param segmentId   the segment.
     * @param endpoint    where its owner answers; empty for the process that embeds the master.
     * @param offset      first byte in the segment.
     * @param size        bytes of the value.
     * @param accessToken what a remote access must show.
     */
    record Memory(long segmentId, String endpoint, long offset, long size, long accessToken)
        implements ReplicaDescriptor {
        @Override
        public ReplicaType type() {
            return ReplicaType.MEMORY;
        }
    }

    /**
     * A value on a client's own disk, read through that client by key and version.
     *
     * @param clientId          the owner.
     * @param objectSize        bytes of the value.
     * @param transportEndpoint where the owner answers; empty for the process that embeds the master.
     */
    record LocalDisk(UUID clientId, long objectSize, String transportEndpoint) implements ReplicaDescriptor {
        @Override
        public ReplicaType type() {
            return ReplicaType.LOCAL_DISK;
        }
    }
}
