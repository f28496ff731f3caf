package io.kvtier.store.storage;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.BlockIo;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import java.util.zip.CRC32C;

/**
 * The preallocated file that holds the values: a header of 4 KiB, then the extent space.
 *
 * <pre>
 *   0   8 bytes  magic "KVTIERDF"          16  8 bytes  capacity of the extent space
 *   8   4 bytes  format version            24  16 bytes storage id
 *   12  4 bytes  unit                      40  4 bytes  CRC-32C of bytes 0 to 39; the rest is zero
 *   4096         extent space, capacity bytes
 * </pre>
 *
 * <p>All numbers are little-endian. The file is only ever grown. It is made under another name and renamed when whole,
 * so that a crash while it is made leaves nothing that looks like one.
 *
 * @param path      where it is.
 * @param capacity  bytes of the extent space.
 * @param storageId made with the file; the index names it, so that the two cannot be mixed up.
 */
record BackingFile(Path path, long capacity, UUID storageId) {
    static final String FILE_NAME = "kv_cache.data";
    static final int FORMAT_VERSION = 1;
    static final long HEADER_BYTES = 4096;

    private static final String TEMPORARY_SUFFIX = ".tmp";
    private static final long MAGIC = 0x464452454954564BL;
    private static final long OFFSET_VERSION = 8;
    private static final long OFFSET_UNIT = 12;
    private static final long OFFSET_CAPACITY = 16;
    private static final long OFFSET_ID = 24;
    private static final int OFFSET_CRC = 40;
    private static final ValueLayout.OfInt INT = JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    /**
     * Opens the file of a directory, or makes it.
     *
     * @param directory where.
     * @param capacity  bytes of the extent space, a multiple of the unit; an existing smaller file is grown.
     * @param unit      bytes.
     * @param opener    opens files.
     * @return what it is; no descriptor is left open.
     */
    static BackingFile open(final Path directory, final long capacity, final long unit, final FileOpener opener) {
        final Path path = directory.resolve(FILE_NAME);
        try {
            DurableNames.deleteIfExists(Path.of(path + TEMPORARY_SUFFIX));
            return Files.exists(path) ? existing(path, capacity, unit, opener) : create(path, capacity, unit, opener);
        } catch (final NativeException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot open or make " + path + " with "
                + (HEADER_BYTES + capacity) + " bytes; where the disk is full, free space or configure a smaller "
                + "capacity", e);
        }
    }

    private static BackingFile create(final Path path, final long capacity, final long unit, final FileOpener opener) {
        final Path temporary = Path.of(path + TEMPORARY_SUFFIX);
        final UUID id = UUID.randomUUID();
        boolean done = false;
        try {
            fill(temporary, capacity, unit, id, opener);
            DurableNames.rename(temporary, path);
            done = true;
        } finally {
            if (!done) {
                DurableNames.deleteIfExists(temporary);
            }
        }
        return new BackingFile(path, capacity, id);
    }

    private static void fill(final Path path, final long capacity, final long unit, final UUID id,
        final FileOpener opener) {
        try (BlockFile file = opener.open(path.toString(), OpenMode.CREATE_NEW)) {
            file.preallocate(0, HEADER_BYTES + capacity);
            writeHeader(file, capacity, unit, id);
        }
    }

    private static BackingFile existing(final Path path, final long capacity, final long unit,
        final FileOpener opener) {
        try (BlockFile file = opener.open(path.toString(), OpenMode.READ_WRITE); Arena arena = Arena.ofConfined()) {
            final MemorySegment header = arena.allocate(HEADER_BYTES);
            final long there = BlockIo.readFully(file, header, 0);
            final long known = checkHeader(path, header, there, unit);
            if (file.size() < HEADER_BYTES + known) {
                throw refused(path, "is truncated: " + file.size() + " bytes, its header says "
                    + (HEADER_BYTES + known));
            }
            if (capacity < known) {
                throw refused(path, "has " + known + " bytes of capacity, more than the configured " + capacity
                    + "; configure at least that much");
            }
            final UUID id = new UUID(header.get(LONG, OFFSET_ID), header.get(LONG, OFFSET_ID + Long.BYTES));
            if (capacity > known) {
                checkRoom(path, file.size(), HEADER_BYTES + capacity);
                file.preallocate(0, HEADER_BYTES + capacity);
                writeHeader(file, capacity, unit, id);
            }
            return new BackingFile(path, capacity, id);
        }
    }

    /** A reservation that fails halfway keeps what it got, and this file is never cut: the room is looked for first. */
    private static void checkRoom(final Path path, final long size, final long wanted) {
        final long free;
        try {
            free = Files.getFileStore(path).getUsableSpace();
        } catch (final IOException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot tell the free space beside " + path, e);
        }
        if (wanted - size > free) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "backing file " + path + " cannot grow to "
                + wanted + " bytes: it has " + size + ", and only " + free + " are free; free space or configure a "
                + "smaller capacity");
        }
    }

    private static long checkHeader(final Path path, final MemorySegment header, final long there, final long unit) {
        if (there < HEADER_BYTES || header.get(LONG, 0) != MAGIC) {
            throw refused(path, "is not a backing file of this store");
        }
        final int version = header.get(INT, OFFSET_VERSION);
        if (version != FORMAT_VERSION) {
            throw refused(path, "has format version " + version + ", this release reads version " + FORMAT_VERSION);
        }
        if (header.get(INT, OFFSET_CRC) != crc(header)) {
            throw refused(path, "has a damaged header");
        }
        final int knownUnit = header.get(INT, OFFSET_UNIT);
        if (knownUnit != unit) {
            throw refused(path, "has units of " + knownUnit + " bytes, this release uses " + unit);
        }
        return header.get(LONG, OFFSET_CAPACITY);
    }

    private static void writeHeader(final BlockFile file, final long capacity, final long unit, final UUID id) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment header = arena.allocate(HEADER_BYTES);
            header.set(LONG, 0, MAGIC);
            header.set(INT, OFFSET_VERSION, FORMAT_VERSION);
            header.set(INT, OFFSET_UNIT, (int) unit);
            header.set(LONG, OFFSET_CAPACITY, capacity);
            header.set(LONG, OFFSET_ID, id.getMostSignificantBits());
            header.set(LONG, OFFSET_ID + Long.BYTES, id.getLeastSignificantBits());
            header.set(INT, OFFSET_CRC, crc(header));
            BlockIo.writeFully(file, header, 0);
            file.sync();
        }
    }

    private static int crc(final MemorySegment header) {
        final CRC32C crc = new CRC32C();
        crc.update(header.asSlice(0, OFFSET_CRC).asByteBuffer());
        return (int) crc.getValue();
    }

    private static StoreException refused(final Path path, final String why) {
        return new StoreException(ErrorCode.FILE_OPEN_FAIL, "backing file " + path + ' ' + why
            + "; use another directory, or delete this one's files to start empty");
    }
}
