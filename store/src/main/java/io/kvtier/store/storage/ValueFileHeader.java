package io.kvtier.store.storage;

import io.kvtier.alloc.Units;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.BlockIo;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * The beginning of a file that is written once, with some values behind it.
 *
 * <pre>
 *   0   8 bytes  magic of the layout       48  4 bytes  bytes of the entries
 *   8   4 bytes  format version            52  4 bytes  number of entries
 *   12  4 bytes  unit                      56  4 bytes  0
 *   16  16 bytes storage id                60  4 bytes  CRC-32C of bytes 0 to 59 and of the entries
 *   32  8 bytes  address                   64           entries, then zeros to a whole unit
 *   40  8 bytes  bytes of the file
 *
 *   an entry: 8 bytes offset in the file, 8 bytes version, 8 bytes size, 8 bytes XXH64, tenant and key
 * </pre>
 *
 * <p>All numbers are little-endian. Entries stand in order of offset, and values do not overlap.
 *
 * @param address of the file: that of its first byte in the space of the directory.
 * @param length  bytes of the file.
 * @param values  in it, at their addresses.
 */
record ValueFileHeader(long address, long length, List<StoredValue> values) {
    private static final int FORMAT_VERSION = 1;
    private static final int HEADER_BYTES = 64;
    private static final int FIRST_READ = 4096;
    private static final int AT_VERSION = 8;
    private static final int AT_UNIT = 12;
    private static final int AT_ID = 16;
    private static final int AT_ADDRESS = 32;
    private static final int AT_LENGTH = 40;
    private static final int AT_ENTRY_BYTES = 48;
    private static final int AT_ENTRIES = 52;
    private static final int AT_CRC = 60;
    private static final int NUMBERS_BYTES = 4 * Long.BYTES;
    /** Far more than the most entries with the longest names take. */
    private static final int MOST_ENTRY_BYTES = 8 << 20;
    private static final int UNIT = (int) DataFile.UNIT_BYTES;

    /** The file belongs to somebody else, or to another release: it is not ours to read or to delete. */
    static final class ForeignFileException extends Exception {
        private static final long serialVersionUID = 1L;

        ForeignFileException(final String why) {
            super(why);
        }
    }

    /** The file is not what was written: its values are lost. */
    static final class DamagedFileException extends Exception {
        private static final long serialVersionUID = 1L;

        DamagedFileException(final String why) {
            super(why);
        }
    }

    /** Bytes before the first value of a file with values of these names, in whole units. */
    static long bytes(final List<ObjectKey> keys) {
        long bytes = HEADER_BYTES;
        for (final ObjectKey key : keys) {
            bytes += entryBytes(key);
        }
        return Units.taken(bytes, UNIT);
    }

    private static long entryBytes(final ObjectKey key) {
        return NUMBERS_BYTES + 2 * Short.BYTES + key.tenant().getBytes(StandardCharsets.UTF_8).length
            + (long) key.key().getBytes(StandardCharsets.UTF_8).length;
    }

    /** Writes it to the front of a file; that is not durable yet. */
    void write(final BlockFile file, final FileLayout layout, final UUID storageId) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment block = arena.allocate(bytes(values.stream().map(StoredValue::key).toList()));
            final ByteBuffer buffer = block.asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
            buffer.position(HEADER_BYTES);
            for (final StoredValue value : values) {
                buffer.putLong(value.offset() - address).putLong(value.version()).putLong(value.size())
                    .putLong(value.checksum());
                RecordFrame.putName(buffer, value.key());
            }
            final int entries = buffer.position() - HEADER_BYTES;
            buffer.putLong(0, layout.magic()).putInt(AT_VERSION, FORMAT_VERSION).putInt(AT_UNIT, UNIT);
            buffer.putLong(AT_ID, storageId.getMostSignificantBits());
            buffer.putLong(AT_ID + Long.BYTES, storageId.getLeastSignificantBits());
            buffer.putLong(AT_ADDRESS, address).putLong(AT_LENGTH, length);
            buffer.putInt(AT_ENTRY_BYTES, entries).putInt(AT_ENTRIES, values.size());
            buffer.putInt(AT_CRC, crc(buffer, entries));
            BlockIo.writeFully(file, block, 0);
        }
    }

    /**
     * Reads the front of a file.
     *
     * @param file      open for reading.
     * @param layout    that it has.
     * @param storageId of its directory.
     * @param address   in its name.
     * @throws ForeignFileException when it is of another directory or version.
     * @throws DamagedFileException when it is not what was written.
     */
    static ValueFileHeader read(final BlockFile file, final FileLayout layout, final UUID storageId,
        final long address) throws ForeignFileException, DamagedFileException {
        try (Arena arena = Arena.ofConfined()) {
            ByteBuffer buffer = fill(file, arena.allocate(FIRST_READ));
            if (buffer.remaining() < FIRST_READ) {
                throw new DamagedFileException("it has only " + buffer.remaining() + " bytes");
            }
            check(buffer, layout, storageId);
            final int entries = buffer.getInt(AT_ENTRY_BYTES);
            if (entries < 0 || entries > MOST_ENTRY_BYTES) {
                throw new DamagedFileException("its header is damaged");
            }
            if (HEADER_BYTES + entries > FIRST_READ) {
                buffer = fill(file, arena.allocate(HEADER_BYTES + entries));
            }
            if (buffer.remaining() < HEADER_BYTES + entries || buffer.getInt(AT_CRC) != crc(buffer, entries)) {
                throw new DamagedFileException("the checksum of its header is wrong");
            }
            return parse(buffer, entries, file.size(), address);
        }
    }

    private static void check(final ByteBuffer buffer, final FileLayout layout, final UUID storageId)
        throws ForeignFileException, DamagedFileException {
        if (buffer.getLong(0) != layout.magic()) {
            throw new DamagedFileException("it does not begin as a value file does");
        }
        if (buffer.getInt(AT_VERSION) != FORMAT_VERSION) {
            throw new ForeignFileException("it has format version " + buffer.getInt(AT_VERSION)
                + ", this release reads version " + FORMAT_VERSION);
        }
        final UUID id = new UUID(buffer.getLong(AT_ID), buffer.getLong(AT_ID + Long.BYTES));
        if (!id.equals(storageId)) {
            throw new ForeignFileException("it belongs to storage " + id + ", its directory is " + storageId);
        }
    }

    private static ValueFileHeader parse(final ByteBuffer buffer, final int entries, final long size,
        final long address) throws DamagedFileException {
        final long length = buffer.getLong(AT_LENGTH);
        if (buffer.getInt(AT_UNIT) != UNIT || buffer.getLong(AT_ADDRESS) != address || length > size) {
            throw new DamagedFileException("its header says address " + buffer.getLong(AT_ADDRESS) + ", "
                + length + " bytes and units of " + buffer.getInt(AT_UNIT) + "; it is at " + address + ", has " + size
                + " and units are " + UNIT);
        }
        final ByteBuffer body = buffer.slice(HEADER_BYTES, entries).order(ByteOrder.LITTLE_ENDIAN);
        final List<StoredValue> values = new ArrayList<>();
        long free = Units.taken(HEADER_BYTES + (long) entries, UNIT);
        try {
            for (int i = buffer.getInt(AT_ENTRIES); i > 0; i--) {
                final long offset = body.getLong();
                final long version = body.getLong();
                final long bytes = body.getLong();
                final long checksum = body.getLong();
                if (offset < free || offset % UNIT != 0 || bytes < 0 || bytes > length
                    || offset > length - DataFile.extentBytes(bytes)) {
                    throw new DamagedFileException("it names a value of " + bytes + " bytes at " + offset);
                }
                free = offset + DataFile.extentBytes(bytes);
                values.add(new StoredValue(RecordFrame.name(body), version, address + offset, bytes, checksum));
            }
        } catch (final BufferUnderflowException | StoreException e) {
            throw new DamagedFileException("its entries mean nothing: " + e.getMessage());
        }
        if (body.hasRemaining()) {
            throw new DamagedFileException("something follows its entries");
        }
        return new ValueFileHeader(address, length, values);
    }

    private static ByteBuffer fill(final BlockFile file, final MemorySegment memory) {
        final long count = BlockIo.readFully(file, memory, 0);
        return memory.asSlice(0, count).asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Of what stands before the checksum and behind it. */
    private static int crc(final ByteBuffer buffer, final int entries) {
        final ByteBuffer all = ByteBuffer.allocate(AT_CRC + entries);
        all.put(buffer.slice(0, AT_CRC)).put(buffer.slice(HEADER_BYTES, entries)).flip();
        return Crc32c.of(all);
    }
}
