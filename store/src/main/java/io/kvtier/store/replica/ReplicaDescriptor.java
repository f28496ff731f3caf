package io.kvtier.store.replica;

import java.util.Arrays;
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
     * @param segment where the segment is.
     * @param offset  first byte in the segment.
     * @param size    bytes of the value.
     */
    record Memory(SegmentAddress segment, long offset, long size) implements ReplicaDescriptor {
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
     * @param transportEndpoint host and port where the owner answers calls; empty for the process that embeds the
     *                          master.
     */
    record LocalDisk(UUID clientId, long objectSize, String transportEndpoint) implements ReplicaDescriptor {
        @Override
        public ReplicaType type() {
            return ReplicaType.LOCAL_DISK;
        }
    }

    /**
     * A range of a block device.
     *
     * @param namespace  id of the device, which its label has too; by it every client finds it among those it has been
     *                   given, or asks the master for the segment of this name.
     * @param offset     first byte, counted from behind the label of 4,096 bytes that the device begins with.
     * @param objectSize bytes of the value.
     */
    record Nof(String namespace, long offset, long objectSize) implements ReplicaDescriptor {
        @Override
        public ReplicaType type() {
            return ReplicaType.NOF;
        }
    }

    /**
     * A replica of a kind that only a later version knows.
     *
     * @param number the kind's number.
     * @param fields its fields as they came, MessagePack; not to be changed.
     */
    record Unknown(int number, byte[] fields) implements ReplicaDescriptor {
        @Override
        public ReplicaType type() {
            return ReplicaType.UNKNOWN;
        }

        @Override
        public boolean equals(final Object other) {
            return other instanceof Unknown unknown && number == unknown.number
                && Arrays.equals(fields, unknown.fields);
        }

        @Override
        public int hashCode() {
            return 31 * number + Arrays.hashCode(fields);
        }

        @Override
        public String toString() {
            return "Unknown[number=" + number + ", " + fields.length + " bytes]";
        }
    }
}
