package io.kvtier.kit;

import io.kvtier.bindings.cufile.gen.CUfileIOParams;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import java.lang.foreign.MemorySegment;

/** One transfer, as the library is asked for it. */
record SimulatedEntry(long cookie, boolean write, long handle, long base, long size, long fileOffset,
                      long bufferOffset) {
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
}
