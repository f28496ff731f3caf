package io.kvtier.store.replica;

import io.kvtier.alloc.extent.ExtentAllocator;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;
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
     * A value that has a file for itself, on a file system that all clients mount at the same place. It belongs to no
     * client. The file is never written again once it has its name, and no other value's file ever has that name.
     *
     * @param filePath   the file as all clients name it; as with {@link DistributedDisk}.
     * @param objectSize bytes of the value, and of the file; 0 or more.
     */
    record Disk(String filePath, long objectSize) implements ReplicaDescriptor {
        /**
         * Validates.
         *
         * @throws IllegalArgumentException naming the field, the value and what is allowed.
         */
        public Disk {
            DistributedDisk.requirePath(filePath);
            require(objectSize >= 0, "object_size", objectSize, "0 or more");
        }

        @Override
        public ReplicaType type() {
            return ReplicaType.DISK;
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
     * An extent of a file of one client, who alone reads and writes it: others ask that client.
     *
     * @param ownerClientId     whose file it is.
     * @param storageId         which file; its header has the same.
     * @param storageGeneration 1 or more; another one each time that the file is made anew, so that a descriptor of
     *                          before leads nowhere.
     * @param valueOffset       first byte in the file's extent space, a multiple of {@link #UNIT_BYTES}.
     * @param valueSize         bytes of the value, 1 or more.
     * @param allocatedSize     bytes of the extent, a multiple of {@link #UNIT_BYTES} that the value fits in.
     */
    record Gds(UUID ownerClientId, UUID storageId, long storageGeneration, long valueOffset, long valueSize,
               long allocatedSize) implements ReplicaDescriptor {
        /** What direct I/O and cuFile want offsets and lengths to be multiples of. */
        public static final long UNIT_BYTES = ExtentAllocator.DEFAULT_UNIT_BYTES;

        /**
         * Validates.
         *
         * @throws IllegalArgumentException naming the field, the value and what is allowed.
         */
        public Gds {
            Objects.requireNonNull(ownerClientId, "ownerClientId");
            Objects.requireNonNull(storageId, "storageId");
            require(storageGeneration >= 1, "storage_generation", storageGeneration, "1 or more");
            requireExtent(valueOffset, valueSize, allocatedSize);
        }

        /**
         * Refuses what is no extent of a value.
         *
         * @param offset    first byte.
         * @param size      bytes of the value.
         * @param allocated bytes of the extent.
         * @throws IllegalArgumentException naming the field, the value and what is allowed.
         */
        public static void requireExtent(final long offset, final long size, final long allocated) {
            require(offset >= 0 && offset % UNIT_BYTES == 0, "value_offset", offset,
                "0 or a positive multiple of " + UNIT_BYTES);
            require(size >= 1, "value_size", size, "1 or more");
            require(allocated >= size && allocated % UNIT_BYTES == 0, "allocated_size", allocated,
                "a multiple of " + UNIT_BYTES + " and at least value_size, which is " + size);
            require(offset <= Long.MAX_VALUE - allocated, "value_offset", offset,
                "so small that the extent's end is a number");
        }

        @Override
        public ReplicaType type() {
            return ReplicaType.GDS;
        }
    }

    /**
     * A range of a file on a file system that all clients mount at the same place. It belongs to no client: whoever has
     * the mount reads it. Where it lies is what this says; nobody works it out from the key.
     *
     * @param filePath   the file as all clients name it: absolute, without {@code .} and {@code ..}, 2 to
     *                   {@link #MAX_PATH_BYTES} bytes of UTF-8.
     * @param offset     first byte in the file, a multiple of {@link #UNIT_BYTES}.
     * @param objectSize bytes of the value, 1 or more.
     */
    record DistributedDisk(String filePath, long offset, long objectSize) implements ReplicaDescriptor {
        /** What direct I/O wants offsets to be multiples of; pages are made of it. */
        public static final long UNIT_BYTES = 4096;
        /** Longest path, in bytes of UTF-8: PATH_MAX of linux/limits.h without the byte that ends it. */
        public static final int MAX_PATH_BYTES = 4095;

        /**
         * Validates.
         *
         * @throws IllegalArgumentException naming the field, the value and what is allowed.
         */
        public DistributedDisk {
            requirePath(filePath);
            require(offset >= 0 && offset % UNIT_BYTES == 0, "offset", offset,
                "0 or a positive multiple of " + UNIT_BYTES);
            require(objectSize >= 1, "object_size", objectSize, "1 or more");
            require(offset <= Long.MAX_VALUE - objectSize, "offset", offset,
                "so small that the value's end is a number");
        }

        /**
         * Refuses what does not name the same file for everybody, or may lead out of the folder that it begins with.
         *
         * @param path a path.
         * @throws IllegalArgumentException naming the path and what is allowed.
         */
        public static void requirePath(final String path) {
            if (path.length() < 2 || path.charAt(0) != '/' || path.indexOf('\0') >= 0
                || (path + '/').contains("/../") || (path + '/').contains("/./")
                || path.getBytes(StandardCharsets.UTF_8).length > MAX_PATH_BYTES) {
                throw new IllegalArgumentException("file_path is '" + path + "'; it must be absolute, without '.', '..'"
                    + " and NUL, and have 2 to " + MAX_PATH_BYTES + " bytes");
            }
        }

        @Override
        public ReplicaType type() {
            return ReplicaType.DISTRIBUTED_DISK;
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

    private static void require(final boolean good, final String field, final long value, final String allowed) {
        if (!good) {
            throw new IllegalArgumentException(field + " is " + value + "; it must be " + allowed);
        }
    }
}
