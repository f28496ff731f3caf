package io.kvtier.store.storage;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.BlockIo;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.UUID;

/**
 * The first block of a file that holds values; the extent space is behind it.
 *
 * <pre>
 *   0   8 bytes  magic of the kind         16  8 bytes  capacity of the extent space
 *   8   4 bytes  format version            24  16 bytes storage id
 *   12  4 bytes  unit                      40  8 bytes  generation, of a kind that has one
 *                                          40 or 48     4 bytes CRC-32C of all before it; the rest is zero
 * </pre>
 *
 * <p>All numbers are little-endian.
 *
 * @param kind       which kind of file.
 * @param unit       bytes that extents are multiples of.
 * @param capacity   bytes of the extent space.
 * @param storageId  made with the file; its index names it, so that the two cannot be mixed up.
 * @param generation tells a file from the one that it took the place of; 0 where the kind has none.
 */
record FileHeader(Kind kind, long unit, long capacity, UUID storageId, long generation) {
    static final int FORMAT_VERSION = 1;
    static final long BYTES = 4096;

    private static final long OFFSET_VERSION = 8;
    private static final long OFFSET_UNIT = 12;
    private static final long OFFSET_CAPACITY = 16;
    private static final long OFFSET_ID = 24;
    private static final int OFFSET_GENERATION = 40;
    private static final ValueLayout.OfInt INT = JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    /** What a file is for. */
    enum Kind {
        /** "KVTIERDF", the file of {@link ExtentMedium}. */
        DISK(0x464452454954564BL, false),
        /** "KVTIERGF", a file of values that go to disk straight from where they are. */
        GDS(0x464752454954564BL, true),
        /** "KVTIERBD", says that a directory has buckets, and which storage they are of. */
        BUCKETS(0x444252454954564BL, false),
        /** "KVTIERKD", says that a directory has a file a key, and which storage they are of. */
        FILES(0x444B52454954564BL, false),
        /** "KVTIERND", the same of a node's own directory on a file system that is shared. */
        NODE_FILES(0x444E52454954564BL, false);

        private final long magic;
        private final boolean generations;

        Kind(final long magic, final boolean generations) {
            this.magic = magic;
            this.generations = generations;
        }

        private int checksumOffset() {
            return OFFSET_GENERATION + (generations ? Long.BYTES : 0);
        }
    }

    /** Whether a file begins as one of a kind does. */
    static boolean hasMagic(final Kind kind, final MemorySegment block, final long there) {
        return there >= Long.BYTES && block.get(LONG, 0) == kind.magic;
    }

    /**
     * Reads a header.
     *
     * @param kind  of the file.
     * @param block its first {@link #BYTES}.
     * @param there how many of them the file has.
     * @param unit  bytes that it must have.
     * @return the header.
     * @throws IllegalArgumentException saying what is wrong, as the end of a sentence that begins with the file.
     */
    static FileHeader parse(final Kind kind, final MemorySegment block, final long there, final long unit) {
        if (there < BYTES || !hasMagic(kind, block, there)) {
            throw new IllegalArgumentException("is not a backing file of this store");
        }
        final int version = block.get(INT, OFFSET_VERSION);
        if (version != FORMAT_VERSION) {
            throw new IllegalArgumentException("has format version " + version + ", this release reads version "
                + FORMAT_VERSION);
        }
        if (block.get(INT, kind.checksumOffset()) != crc(kind, block)) {
            throw new IllegalArgumentException("has a damaged header");
        }
        final int known = block.get(INT, OFFSET_UNIT);
        if (known != unit) {
            throw new IllegalArgumentException("has units of " + known + " bytes, this release uses " + unit);
        }
        return new FileHeader(kind, unit, block.get(LONG, OFFSET_CAPACITY),
            new UUID(block.get(LONG, OFFSET_ID), block.get(LONG, OFFSET_ID + Long.BYTES)),
            kind.generations ? block.get(LONG, OFFSET_GENERATION) : 0);
    }

    /** Writes it to the front of a file and makes it durable. */
    void write(final BlockFile file) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment block = arena.allocate(BYTES);
            block.set(LONG, 0, kind.magic);
            block.set(INT, OFFSET_VERSION, FORMAT_VERSION);
            block.set(INT, OFFSET_UNIT, (int) unit);
            block.set(LONG, OFFSET_CAPACITY, capacity);
            block.set(LONG, OFFSET_ID, storageId.getMostSignificantBits());
            block.set(LONG, OFFSET_ID + Long.BYTES, storageId.getLeastSignificantBits());
            if (kind.generations) {
                block.set(LONG, OFFSET_GENERATION, generation);
            }
            block.set(INT, kind.checksumOffset(), crc(kind, block));
            BlockIo.writeFully(file, block, 0);
            file.sync();
        }
    }

    private static int crc(final Kind kind, final MemorySegment block) {
        return Crc32c.of(block.asSlice(0, kind.checksumOffset()).asByteBuffer());
    }
}
