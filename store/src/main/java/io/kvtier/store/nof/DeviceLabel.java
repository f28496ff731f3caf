package io.kvtier.store.nof;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.BlockIo;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
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
 * The first block of a device, which says that it is one of a store, and which.
 *
 * <pre>
 *   0   8 bytes  magic "KVTIERNF"          16  16 bytes id of the device, made with the label
 *   8   4 bytes  format version            32  4 bytes  CRC-32C of bytes 0 to 31; the rest is zero
 *   12  4 bytes  unit, 4,096               4096         the values, from their offset 0 on
 * </pre>
 *
 * <p>All numbers are little-endian. The id is the name by which clients speak of the device to each other. Nobody reads
 * or writes a value where the label does not carry it: not on a host where the same path leads to another disk, and not
 * in a file that somebody only says is a device.
 *
 * <p><b>Threading:</b> stateless. <b>Blocking:</b> on the device.
 */
public final class DeviceLabel {
    /** Bytes that it takes; values lie behind them. */
    public static final long BYTES = 4096;

    static final int FORMAT_VERSION = 1;
    private static final long MAGIC = 0x464E52454954564BL;
    private static final long OFFSET_VERSION = 8;
    private static final long OFFSET_UNIT = 12;
    private static final long OFFSET_ID = 16;
    private static final int OFFSET_CRC = 32;
    private static final ValueLayout.OfInt INT = JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private static final int FORMAT_MASK = 0xf000;
    private static final int FORMAT_REGULAR = 0x8000;
    private static final int FORMAT_BLOCK = 0x6000;

    private DeviceLabel() {
    }

    /**
     * The device's id as its label has it now, past the page cache where that can be.
     *
     * @param files opens it.
     * @param path  where it is.
     * @return the id.
     * @throws StoreException                     FILE_OPEN_FAIL when it is no device of a store.
     * @throws io.kvtier.bindings.NativeException when it cannot be opened or read.
     */
    public static UUID read(final FileOpener files, final Path path) {
        requireDevice(path);
        try (BlockFile file = openDirect(files, path, OpenMode.READ_DIRECT, OpenMode.READ);
             Arena arena = Arena.ofConfined()) {
            final MemorySegment block = arena.allocate(BYTES, BYTES);
            BlockIo.readFully(file, block, 0);
            return idIn(block, path);
        }
    }

    /**
     * The id in a label.
     *
     * @param block the first {@link #BYTES} bytes of a device; zeros where it is shorter.
     * @param path  where it is, for messages.
     * @return the id.
     * @throws StoreException FILE_OPEN_FAIL when it is no label.
     */
    public static UUID idIn(final MemorySegment block, final Path path) {
        if (!hasMagic(block)) {
            throw refused(path, "is no block device of a store; 'kvtier node --nof-device' makes one");
        }
        if (block.get(INT, OFFSET_CRC) != crc(block)) {
            throw refused(path, "has a damaged label; where nothing on it is wanted, clear its first MiB and lend it "
                + "again");
        }
        final int version = block.get(INT, OFFSET_VERSION);
        if (version != FORMAT_VERSION) {
            throw refused(path, "has a label of version " + version + ", this release reads version "
                + FORMAT_VERSION);
        }
        final int unit = block.get(INT, OFFSET_UNIT);
        if (unit != BYTES) {
            throw refused(path, "has units of " + unit + " bytes, this release uses " + BYTES);
        }
        return new UUID(block.get(LONG, OFFSET_ID), block.get(LONG, OFFSET_ID + Long.BYTES));
    }

    /** Writes a label and makes it durable; {@code file} takes whole blocks. */
    static void write(final BlockFile file, final UUID id) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment block = arena.allocate(BYTES, BYTES);
            block.set(LONG, 0, MAGIC);
            block.set(INT, OFFSET_VERSION, FORMAT_VERSION);
            block.set(INT, OFFSET_UNIT, (int) BYTES);
            block.set(LONG, OFFSET_ID, id.getMostSignificantBits());
            block.set(LONG, OFFSET_ID + Long.BYTES, id.getLeastSignificantBits());
            block.set(INT, OFFSET_CRC, crc(block));
            BlockIo.writeFully(file, block, 0);
            file.sync();
        }
    }

    /** Whether it begins as a label does. */
    static boolean hasMagic(final MemorySegment block) {
        return block.get(LONG, 0) == MAGIC;
    }

    /** Whether there is nothing but zeros. */
    static boolean isBlank(final MemorySegment bytes) {
        for (long at = 0; at < bytes.byteSize(); at++) {
            if (bytes.get(JAVA_BYTE, at) != 0) {
                return false;
            }
        }
        return true;
    }

    /**
     * Looks at what a path leads to, without opening it: opening a pipe would wait, and a terminal would notice.
     *
     * @param path where.
     * @throws StoreException FILE_OPEN_FAIL for what is neither a block device nor a file, and where there is nothing.
     */
    public static void requireDevice(final Path path) {
        isBlockDevice(path);
    }

    /** True for a block device, false for a file; anything else is refused. */
    static boolean isBlockDevice(final Path path) {
        final int format;
        try {
            format = (int) Files.getAttribute(path, "unix:mode") & FORMAT_MASK;
        } catch (final IOException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "there is no block device or file " + path
                + " on this host, or it may not be looked at; attach the namespace first ('nvme connect', 'nvme list')",
                e);
        }
        if (format != FORMAT_BLOCK && format != FORMAT_REGULAR) {
            throw refused(path, "is neither a block device nor a file");
        }
        return format == FORMAT_BLOCK;
    }

    /** Opens past the page cache, or through it where the file system cannot. */
    static BlockFile openDirect(final FileOpener files, final Path path, final OpenMode direct,
        final OpenMode buffered) {
        final BlockFile file = open(files, path, direct, buffered);
        if (file.alignment() > BYTES) {
            final int alignment = file.alignment();
            file.close();
            throw refused(path, "takes blocks of " + alignment + " bytes only; values lie at multiples of " + BYTES);
        }
        return file;
    }

    private static BlockFile open(final FileOpener files, final Path path, final OpenMode direct,
        final OpenMode buffered) {
        try {
            return files.open(path.toString(), direct);
        } catch (final ErrnoException e) {
            if (e.errno() == Errno.EINVAL || e.errno() == Errno.EOPNOTSUPP) {
                return files.open(path.toString(), buffered);
            }
            throw e;
        }
    }

    static StoreException refused(final Path path, final String why) {
        return new StoreException(ErrorCode.FILE_OPEN_FAIL, path + " " + why);
    }

    private static int crc(final MemorySegment block) {
        final CRC32C crc = new CRC32C();
        crc.update(block.asSlice(0, OFFSET_CRC).asByteBuffer());
        return (int) crc.getValue();
    }
}
