package io.kvtier.transport.device;

import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.CudaCopies;
import io.kvtier.bindings.cuda.CudaStream;
import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.bindings.cuda.PinnedMemory;
import java.lang.foreign.MemorySegment;

/** A stream of a GPU. */
final class CudaCopyStream implements CopyStream {
    private static final MemorySegment NONE = MemorySegment.NULL;

    private final CudaStream stream;
    /** Null when none was asked for. */
    private final PinnedMemory staging;

    CudaCopyStream(final CudaContext context, final long stagingBytes) {
        stream = CudaStream.create(context);
        try {
            staging = stagingBytes == 0 ? null : PinnedMemory.allocate(context, stagingBytes);
        } catch (final RuntimeException | Error e) {
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
        return staging == null ? NONE : staging.segment();
    }

    @Override
    public void close() {
        try {
            stream.close();
        } finally {
            if (staging != null) {
                staging.close();
            }
        }
    }
}
