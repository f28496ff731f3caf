package io.kvtier.transport.file;

import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.Units;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Slice;
import java.lang.foreign.MemorySegment;

/**
 * One slice as the operations that its file takes, one after the other: any address, offset and length over a direct
 * descriptor, which itself takes only whole blocks at block-aligned memory. It says what to do next and is told what
 * came of it, so that a system call that blocks and an operation of a ring do the same.
 *
 * <pre>
 *   file      |....block....|....block....|....block....|....block....|
 *   slice            [head  |       body                | tail  ]
 *   read             bounce |  direct, or bounce when   | bounce         whole blocks are read, the part copied out
 *   write          buffered |  memory is unaligned      | buffered       a part of a block goes through the page cache
 * </pre>
 *
 * <p>An operation that moved less than it was asked for is gone on with from there: the first short count of a direct
 * file that is no whole block, and a count of 0, are the end of the file. A direct write can only be gone on with at a
 * block: a block that was written in part is written again.
 *
 * <p><b>Threading:</b> one thread at a time. <b>Lifetime:</b> used again for slice after slice; refers to memory only
 * from {@link #begin} to {@link #clear}. <b>Allocation:</b> {@link #memory()} makes a small object a call.
 */
final class AlignedIo {
    /** Most of one operation: Linux moves 2 GiB less a page at once, and half of that keeps every piece aligned. */
    private static final long MAX_OPERATION_BYTES = 1L << 30;

    private final long bounceBytes;
    private Slice slice;
    private FileHandle handle;
    private HostMemory region;
    private MemorySegment memory;
    private long address;
    /** Bytes of the slice, from its start, that were moved. */
    private long done;
    private boolean fileEnded;

    private BlockFile file;
    private boolean bounced;
    private MemorySegment bounce;
    private long operationOffset;
    private long operationLength;
    private long operationMoved;
    /** Bytes of a bounced operation in front of those that are wanted, and how many are wanted. */
    private long skipped;
    private long wanted;

    /**
     * For slices of any kind.
     *
     * @param bounceBytes size of the staging memory that it will be given: whole blocks, at least one.
     */
    AlignedIo(final long bounceBytes) {
        this.bounceBytes = bounceBytes;
    }

    /** Whether all of a slice can go to and from its own memory by one descriptor. */
    static boolean isPlain(final FileHandle handle, final Slice slice) {
        final BlockFile direct = handle.direct();
        return direct == null || isAligned(((HostMemory) slice.region()).segment().address() + slice.localOffset()
            | slice.offset() | slice.length(), direct.alignment());
    }

    void begin(final Slice next, final FileHandle of) {
        slice = next;
        handle = of;
        region = (HostMemory) next.region();
        memory = region.segment();
        address = memory.address() + next.localOffset();
        done = 0;
        fileEnded = false;
        operationLength = 0;
        bounce = null;
    }

    void clear() {
        slice = null;
        handle = null;
        region = null;
        memory = null;
        file = null;
        bounce = null;
    }

    Slice slice() {
        return slice;
    }

    /** Bytes moved when there is nothing more to do: the slice's length, or less when the file ended. */
    long done() {
        return done;
    }

    /**
     * Finds the next operation, or the rest of the present one.
     *
     * @return false when there is none.
     */
    boolean plan() {
        if (operationLength > 0) {
            return true;
        }
        final long left = slice.length() - done;
        if (fileEnded || left == 0) {
            return false;
        }
        operationOffset = slice.offset() + done;
        operationMoved = 0;
        bounced = false;
        skipped = 0;
        final BlockFile direct = handle.direct();
        if (direct == null) {
            whole(handle.buffered(), left);
        } else if (slice.direction() == Direction.READ) {
            planRead(direct, left);
        } else {
            planWrite(direct, left);
        }
        return true;
    }

    private void planRead(final BlockFile direct, final long left) {
        final long block = direct.alignment();
        final long skip = operationOffset & block - 1;
        if (skip == 0 && left >= block && isAligned(address + done, block)) {
            whole(direct, left - left % block);
            return;
        }
        // Behind a head of less than a block, memory and file may be aligned both.
        final boolean meet = isAligned(address + done - operationOffset, block);
        wanted = Math.min(left, (meet ? block : bounceBytes) - skip);
        skipped = skip;
        bounced = true;
        file = direct;
        operationOffset -= skip;
        operationLength = Units.up(skip + wanted, block);
    }

    private void planWrite(final BlockFile direct, final long left) {
        final long block = direct.alignment();
        final long head = -operationOffset & block - 1;
        if (head > 0 || left < block) {
            // A part of a block: read, change and write it here, and a neighbour's write to it would be lost.
            whole(handle.buffered(), head > 0 ? Math.min(head, left) : left);
            return;
        }
        whole(direct, left - left % block);
        if (!isAligned(address + done, block)) {
            bounced = true;
            operationLength = Math.min(operationLength, bounceBytes);
            wanted = operationLength;
        }
    }

    private void whole(final BlockFile by, final long length) {
        file = by;
        operationLength = Math.min(length, MAX_OPERATION_BYTES);
    }

    /** Whether the operation needs staging memory that it was not given yet; see {@link #stage}. */
    boolean needsBounce() {
        return bounced && bounce == null;
    }

    /** Whether the operation moves bytes to or from staging memory. */
    boolean isBounced() {
        return bounced;
    }

    /** The staging memory that it holds; null for none. */
    MemorySegment bounce() {
        return bounce;
    }

    /**
     * Lends staging memory until the slice has ended.
     *
     * @param staging aligned, of the size that the constructor was told.
     */
    void lend(final MemorySegment staging) {
        bounce = staging;
    }

    /** Puts what is to be written into the staging memory; to be called once for each operation that is planned. */
    void stage() {
        if (bounced && operationMoved == 0 && slice.direction() == Direction.WRITE) {
            MemorySegment.copy(memory, slice.localOffset() + done, bounce, 0, operationLength);
            region.raiseFault();
        }
    }

    /** The descriptor. */
    BlockFile file() {
        return file;
    }

    /** Whether it is the direct one. */
    boolean isDirect() {
        return file == handle.direct();
    }

    /** First byte in the file of what is left of the operation. */
    long fileOffset() {
        return operationOffset + operationMoved;
    }

    /** Bytes left of the operation. */
    long length() {
        return operationLength - operationMoved;
    }

    /** Address of the memory of what is left of the operation. */
    long address() {
        return bounced ? bounce.address() + operationMoved : address + done + operationMoved;
    }

    /** The memory of what is left of the operation. */
    MemorySegment memory() {
        return bounced ? bounce.asSlice(operationMoved, length())
            : memory.asSlice(slice.localOffset() + done + operationMoved, length());
    }

    /**
     * Takes what came of the operation.
     *
     * @param count bytes that were moved.
     * @throws ErrnoException EIO when a write cannot be gone on with.
     */
    void moved(final long count) {
        final long before = operationMoved;
        operationMoved += count;
        if (slice.direction() == Direction.READ) {
            tookIn(count);
        } else if (operationMoved == operationLength) {
            operationDone(operationLength);
        } else {
            operationMoved -= operationMoved % file.alignment();
            if (operationMoved <= before) {
                throw new ErrnoException("pwrite", Errno.EIO, file.path() + ", only " + count
                    + " bytes taken at offset " + (operationOffset + before) + ", less than a block");
            }
        }
    }

    private void tookIn(final long count) {
        final boolean last = count == 0
            || operationMoved < operationLength && !isAligned(operationMoved, file.alignment());
        if (!bounced) {
            if (last || operationMoved == operationLength) {
                fileEnded = operationMoved < operationLength;
                operationDone(operationMoved);
            }
        } else if (last || operationMoved >= skipped + wanted) {
            final long useful = Math.max(0, Math.min(operationMoved - skipped, wanted));
            MemorySegment.copy(bounce, skipped, memory, slice.localOffset() + done, useful);
            region.raiseFault();
            fileEnded = useful < wanted;
            operationDone(useful);
        }
    }

    private void operationDone(final long bytes) {
        done += bytes;
        operationLength = 0;
    }

    private static boolean isAligned(final long value, final long block) {
        return (value & block - 1) == 0;
    }
}
