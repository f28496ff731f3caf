package io.kvtier.bindings.posix;

import java.lang.foreign.MemorySegment;

/**
 * Whole transfers over {@link BlockFile}: retries EINTR and goes on after a short transfer, the one place that does.
 *
 * <p><b>Threading:</b> stateless. <b>Blocking:</b> on the disk.
 */
public final class BlockIo {
    /**
     * The most one Linux read or write moves ({@code MAX_RW_COUNT}, the largest page multiple below 2 GiB); a call
     * asked for more returns short. Staying at half of it keeps every piece aligned for direct I/O.
     */
    static final long MAX_CALL_BYTES = 1L << 30;

    private BlockIo() {
    }

    /**
     * Reads until the memory is full or the file ends.
     *
     * @param file   the file.
     * @param target native memory.
     * @param offset where in the file, in bytes.
     * @return bytes read; less than the memory's size only when the file ended there.
     * @throws ErrnoException when a call failed with anything but EINTR.
     */
    public static long readFully(final BlockFile file, final MemorySegment target, final long offset) {
        final long wanted = target.byteSize();
        long done = 0;
        while (done < wanted) {
            final long length = Math.min(wanted - done, MAX_CALL_BYTES);
            final long count = read(file, part(target, done, length), offset + done);
            done += count;
            // A direct read comes back unaligned only from the end of the file, and the rest could not be asked for.
            if (count == 0 || done < wanted && done % file.alignment() != 0) {
                break;
            }
        }
        return done;
    }

    /** The memory itself where all of it is meant, which spares an object. */
    private static MemorySegment part(final MemorySegment memory, final long offset, final long length) {
        return length == memory.byteSize() ? memory : memory.asSlice(offset, length);
    }

    /**
     * Writes all of the memory.
     *
     * @param file   the file.
     * @param source native memory.
     * @param offset where in the file, in bytes.
     * @throws ErrnoException when a call failed with anything but EINTR, or moved nothing; how much was written
     *                        before is then unknown to the caller.
     */
    public static void writeFully(final BlockFile file, final MemorySegment source, final long offset) {
        final long wanted = source.byteSize();
        long done = 0;
        while (done < wanted) {
            final long length = Math.min(wanted - done, MAX_CALL_BYTES);
            final long count = write(file, part(source, done, length), offset + done);
            final long before = done;
            done += count;
            if (done < wanted) {
                // A direct write can only be continued at a block boundary: the partly written block goes again.
                done -= done % file.alignment();
                if (done <= before) {
                    throw new ErrnoException("pwrite", Errno.EIO, file.path() + ", only " + count
                        + " bytes taken at offset " + (offset + before) + ", less than a block");
                }
            }
        }
    }

    /**
     * Reads once, as {@link BlockFile#read}, and again when a signal interrupted it before anything was read.
     *
     * @param file   the file.
     * @param target native memory.
     * @param offset where in the file, in bytes.
     * @return bytes read; may be fewer than asked, 0 at or behind the end of the file.
     * @throws ErrnoException when the call failed with anything but EINTR.
     */
    public static long read(final BlockFile file, final MemorySegment target, final long offset) {
        while (true) {
            try {
                return file.read(target, offset);
            } catch (final ErrnoException e) {
                if (e.errno() != Errno.EINTR) {
                    throw e;
                }
            }
        }
    }

    /**
     * Writes once, as {@link BlockFile#write}, and again when a signal interrupted it before anything was written.
     *
     * @param file   the file.
     * @param source native memory.
     * @param offset where in the file, in bytes.
     * @return bytes written; may be fewer than offered.
     * @throws ErrnoException when the call failed with anything but EINTR.
     */
    public static long write(final BlockFile file, final MemorySegment source, final long offset) {
        while (true) {
            try {
                return file.write(source, offset);
            } catch (final ErrnoException e) {
                if (e.errno() != Errno.EINTR) {
                    throw e;
                }
            }
        }
    }
}
