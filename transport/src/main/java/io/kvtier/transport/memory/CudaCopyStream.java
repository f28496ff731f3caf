package io.kvtier.transport.memory;

import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.CudaCopies;
import io.kvtier.bindings.cuda.CudaStream;
import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.bindings.cuda.PinnedMemory;
import java.lang.foreign.MemorySegment;

/** A stream of a GPU. */
final class CudaCopyStream implements CopyStream {
    /** Large enough that a copy takes longer than starting it. */
    private static final long STAGING_BYTES = 1L << 20;

    private final CudaStream stream;
    private final PinnedMemory staging;

    CudaCopyStream(final CudaContext context) {
        stream = CudaStream.create(context);
        try {
            staging = PinnedMemory.allocate(context, STAGING_BYTES);
        } catch (final RuntimeException e) {
            stream.close();
            throw e;
        }
    }

    @Override
    public void toDevice(final MemorySegment source, final DevicePointer target) {
        CudaCopies.toDevice(stream, source, target);
    }

    @Override
    public void toHost(final DevicePointer source, final MemorySegment target) {
        CudaCopies.toHost(stream, source, target);
    }

    @Override
    public void onDevice(final DevicePointer source, final DevicePointer target) {
        CudaCopies.onDevice(stream, source, target);
    }

    @Override
    public void synchronize() {
        stream.synchronize();
    }

    @Override
    public MemorySegment staging() {
        return staging.segment();
    }

    @Override
    public void close() {
        try {
            stream.close();
        } finally {
            staging.close();
        }
    }
}
