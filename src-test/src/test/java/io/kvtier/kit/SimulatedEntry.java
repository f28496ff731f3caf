package io.kvtier.kit;

import io.kvtier.bindings.cufile.gen.CUfileIOParams;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import java.lang.foreign.MemorySegment;

/** One transfer, as the library is asked for it. */
record SimulatedEntry(long cookie, boolean write, long handle, long base, long size, long fileOffset,
                      long bufferOffset) {
    private static final long BLOCK = 4096;
    private static final long SECTOR = 512;

    /** What lies in an entry of a batch. */
    static SimulatedEntry of(final MemorySegment params) {
        final MemorySegment batch = CUfileIOParams.u.batch(CUfileIOParams.u(params));
        if (CUfileIOParams.mode(params) != CuFileTypes.CUFILE_BATCH()) {
            throw new AssertionError("mode " + CUfileIOParams.mode(params));
        }
        return new SimulatedEntry(CUfileIOParams.cookie(params).address(),
            CUfileIOParams.opcode(params) == CuFileTypes.CUFILE_WRITE(), CUfileIOParams.fh(params).address(),
            CUfileIOParams.u.batch.devPtr_base(batch).address(), CUfileIOParams.u.batch.size(batch),
            CUfileIOParams.u.batch.file_offset(batch), CUfileIOParams.u.batch.devPtr_offset(batch));
    }

    boolean isOfWholeBlocks() {
        return (fileOffset | size) % BLOCK == 0;
    }

    /** Whether its memory begins where the kernel takes it past the page cache. */
    boolean isAligned() {
        return (base + bufferOffset) % SECTOR == 0;
    }

    /** The same from or to the base, as if the entry named no offset. */
    SimulatedEntry withoutBufferOffset() {
        return new SimulatedEntry(cookie, write, handle, base, size, fileOffset, 0);
    }

    /** A block that two writes change in part at the same time may lose what one of them wrote. */
    void checkBeside(final SimulatedEntry other) {
        if (write && other.write && handle == other.handle
            && (changesInPart(other.fileOffset) || changesInPart(other.fileOffset + other.size)
                || other.changesInPart(fileOffset) || other.changesInPart(fileOffset + size))) {
            throw new AssertionError("two writes to one block at a time: " + this + " and " + other);
        }
    }

    /** Whether a border in the middle of a block lies in a block that this begins or ends in the middle of. */
    private boolean changesInPart(final long border) {
        final boolean inside = border % BLOCK != 0;
        return inside && (fileOffset % BLOCK != 0 && fileOffset / BLOCK == border / BLOCK
            || (fileOffset + size) % BLOCK != 0 && (fileOffset + size) / BLOCK == border / BLOCK);
    }
}
