package io.kvtier.bindings.posix;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * What {@code statx} says of a file, the direct-I/O alignment included where the kernel gives it (Linux 6.1 for ext4
 * and XFS).
 *
 * @param size              bytes; of a block device those that it holds, for which statx has 0.
 * @param allocatedBytes    bytes of disk blocks behind it.
 * @param regular           whether it is a regular file.
 * @param device            major and minor number of the file system's device, as {@code major << 32 | minor}.
 * @param inode             the inode number.
 * @param memoryAlignment   alignment of memory for direct I/O in bytes; 0 when the kernel does not say.
 * @param offsetAlignment   alignment of offset and length for direct I/O in bytes; 0 when the kernel does not say, or
 *                          when the file cannot do direct I/O.
 */
public record FileStatus(long size, long allocatedBytes, boolean regular, long device, long inode,
                         int memoryAlignment, int offsetAlignment) {
    // struct statx of linux/stat.h: 256 bytes, the same on every architecture.
    static final long STATX_BYTES = 256;
    static final long OFFSET_MASK = 0;
    static final long OFFSET_MODE = 28;
    static final long OFFSET_INODE = 32;
    static final long OFFSET_SIZE = 40;
    static final long OFFSET_BLOCKS = 48;
    static final long OFFSET_DEVICE_MAJOR = 136;
    static final long OFFSET_DEVICE_MINOR = 140;
    static final long OFFSET_DIO_MEMORY = 152;
    static final long OFFSET_DIO_OFFSET = 156;

    static final int AT_EMPTY_PATH = 0x1000;
    static final int STATX_BASIC_STATS = 0x7ff;
    static final int STATX_DIOALIGN = 0x2000;
    static final int FORMAT_MASK = 0xf000;
    static final int FORMAT_REGULAR = 0x8000;
    static final int FORMAT_BLOCK = 0x6000;

    /** Unit of {@code stx_blocks}, whatever the file system's block is. */
    private static final long BLOCK_BYTES = 512;

    static FileStatus of(final int fd, final String path) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment status = arena.allocate(STATX_BYTES, Long.BYTES);
            final int result = Libc.statx(fd, arena.allocateFrom(""), AT_EMPTY_PATH,
                STATX_BASIC_STATS | STATX_DIOALIGN, status);
            if (result != 0) {
                throw new ErrnoException("statx", Libc.lastErrno(), path);
            }
            final boolean aligned = (status.get(JAVA_INT, OFFSET_MASK) & STATX_DIOALIGN) != 0;
            final int format = status.get(JAVA_SHORT, OFFSET_MODE) & FORMAT_MASK;
            return new FileStatus(format == FORMAT_BLOCK ? deviceBytes(fd, path) : status.get(JAVA_LONG, OFFSET_SIZE),
                status.get(JAVA_LONG, OFFSET_BLOCKS) * BLOCK_BYTES,
                format == FORMAT_REGULAR,
                (long) status.get(JAVA_INT, OFFSET_DEVICE_MAJOR) << Integer.SIZE
                    | status.get(JAVA_INT, OFFSET_DEVICE_MINOR) & 0xffffffffL,
                status.get(JAVA_LONG, OFFSET_INODE),
                aligned ? status.get(JAVA_INT, OFFSET_DIO_MEMORY) : 0,
                aligned ? status.get(JAVA_INT, OFFSET_DIO_OFFSET) : 0);
        }
    }

    private static long deviceBytes(final int fd, final String path) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment bytes = arena.allocate(JAVA_LONG);
            if (Libc.ioctl(fd, Libc.BLKGETSIZE64, bytes) != 0) {
                throw new ErrnoException("ioctl", Libc.lastErrno(), path + ", BLKGETSIZE64");
            }
            return bytes.get(JAVA_LONG, 0);
        }
    }
}
