package io.kvtier.transport.file;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.BlockIo;
import java.lang.foreign.MemorySegment;

/**
 * Any address, offset and length over a direct descriptor, which itself takes only whole blocks at block-aligned
 * memory.
 *
 * <pre>
 *   file      |....block....|....block....|....block....|....block....|
 *   slice            [head  |       body                | tail  ]
 *   read             bounce |  direct, or bounce when   | bounce         whole blocks are read, the part copied out
 *   write          buffered |  memory is unaligned      | buffered       a part of a block goes through the page cache
 * </pre>
 *
 * <p><b>Threading:</b> stateless; the bounce memory belongs to the caller for the length of a call.
 * <b>Blocking:</b> on the disk.
 */
final class AlignedIo {
    private AlignedIo() {
    }

    /**
     * Reads as much as there is.
     *
     * @param handle the file.
     * @param target native memory.
     * @param offset first byte in the file.
     * @param bounce aligned memory, a whole number of blocks.
     * @return bytes read; less than the target's size only when the file ended.
     */
    static long read(final FileHandle handle, final MemorySegment target, final long offset,
        final MemorySegment bounce) {
        final BlockFile direct = handle.direct();
        if (direct == null) {
            return BlockIo.readFully(handle.buffered(), target, offset);
        }
        final long block = direct.alignment();
        long done = 0;
        if (isAligned(target.address(), block) && isAligned(offset, block)) {
            final long body = target.byteSize() - target.byteSize() % block;
            if (body > 0) {
                done = BlockIo.readFully(direct, target.asSlice(0, body), offset);
            }
            if (done < body) {
                return done;
            }
        }
        return done + readBounced(direct, target.asSlice(done), offset + done, bounce);
    }

    /**
     * Writes all of it.
     *
     * @param handle the file.
     * @param source native memory.
     * @param offset first byte in the file.
     * @param bounce aligned memory, a whole number of blocks.
     */
    static void write(final FileHandle handle, final MemorySegment source, final long offset,
        final MemorySegment bounce) {
        final BlockFile direct = handle.direct();
        final long length = source.byteSize();
        if (direct == null) {
            BlockIo.writeFully(handle.buffered(), source, offset);
            return;
        }
        final long block = direct.alignment();
        final long head = Math.min(length, -offset & block - 1);
        final long body = (length - head) / block * block;
        if (head > 0) {
            BlockIo.writeFully(handle.buffered(), source.asSlice(0, head), offset);
        }
        if (body > 0) {
            writeBlocks(direct, source.asSlice(head, body), offset + head, bounce);
        }
        if (head + body < length) {
            BlockIo.writeFully(handle.buffered(), source.asSlice(head + body), offset + head + body);
        }
    }

    private static long readBounced(final BlockFile direct, final MemorySegment target, final long offset,
        final MemorySegment bounce) {
        final long block = direct.alignment();
        long done = 0;
        while (done < target.byteSize()) {
            final long at = offset + done;
            final long skip = at & block - 1;
            final long wanted = Math.min(target.byteSize() - done, bounce.byteSize() - skip);
            final long covering = skip + wanted + block - 1 & -block;
            final long count = BlockIo.readFully(direct, bounce.asSlice(0, covering), at - skip);
            final long useful = Math.max(0, Math.min(count - skip, wanted));
            MemorySegment.copy(bounce, skip, target, done, useful);
            done += useful;
            if (useful < wanted) {
                break;
            }
        }
        return done;
    }

    private static void writeBlocks(final BlockFile direct, final MemorySegment source, final long offset,
        final MemorySegment bounce) {
        if (isAligned(source.address(), direct.alignment())) {
            BlockIo.writeFully(direct, source, offset);
            return;
        }
        for (long done = 0; done < source.byteSize(); done += bounce.byteSize()) {
            final long length = Math.min(bounce.byteSize(), source.byteSize() - done);
            MemorySegment.copy(source, done, bounce, 0, length);
            BlockIo.writeFully(direct, bounce.asSlice(0, length), offset + done);
        }
    }

    private static boolean isAligned(final long value, final long block) {
        return (value & block - 1) == 0;
    }
}
