package io.kvtier.bindings.cuda;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.RefCount;
import io.kvtier.bindings.cuda.gen.CudaFunctions;
import io.kvtier.bindings.cuda.gen.CudaTypes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Owner of an event: a mark in a stream that is passed when everything before it is done.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> may be closed while a stream still waits for it. <b>Blocking:</b>
 * only {@link #synchronize()}.
 */
public final class CudaEvent implements AutoCloseable {
    private final CudaContext context;
    private final MemorySegment handle;
    private final RefCount references;

    private CudaEvent(final CudaContext context, final MemorySegment handle) {
        this.context = context;
        this.handle = handle;
        NativeResources.created(NativeTag.CUDA_HANDLE, 0);
        this.references = new RefCount(() -> {
            NativeResources.released(NativeTag.CUDA_HANDLE, 0);
            try {
                Cuda.check("cuEventDestroy", context.resultHeld(() -> CudaFunctions.cuEventDestroy_v2(handle)), "");
            } finally {
                context.release();
            }
        });
    }

    /**
     * Makes an event that measures no time, which is the cheap kind.
     *
     * @param context in which.
     * @return the owner.
     */
    public static CudaEvent create(final CudaContext context) {
        context.acquire();
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment out = arena.allocate(ValueLayout.ADDRESS);
            Cuda.check("cuEventCreate", context.resultHeld(
                () -> CudaFunctions.cuEventCreate(out, CudaTypes.CU_EVENT_DISABLE_TIMING())), "");
            return new CudaEvent(context, out.get(ValueLayout.ADDRESS, 0));
        } catch (final RuntimeException | Error e) {
            context.release();
            throw e;
        }
    }

    /**
     * Puts the mark behind everything given to a stream so far; an earlier mark of this event is forgotten.
     *
     * @param stream of the same context.
     */
    public void record(final CudaStream stream) {
        retain();
        try {
            stream.retain();
            try {
                Cuda.check("cuEventRecord", context.resultHeld(
                    () -> CudaFunctions.cuEventRecord(handle, stream.handle())), "");
            } finally {
                stream.release();
            }
        } finally {
            references.release();
        }
    }

    /**
     * Whether the mark has been passed.
     *
     * @return true also when it was never put anywhere.
     * @throws CudaException when something before it failed.
     */
    public boolean passed() {
        retain();
        try {
            final int result = context.resultHeld(() -> CudaFunctions.cuEventQuery(handle));
            if (result == CudaTypes.CUDA_ERROR_NOT_READY()) {
                return false;
            }
            Cuda.check("cuEventQuery", result, "");
            return true;
        } finally {
            references.release();
        }
    }

    /** Waits until the mark has been passed. */
    public void synchronize() {
        retain();
        try {
            Cuda.check("cuEventSynchronize", context.resultHeld(() -> CudaFunctions.cuEventSynchronize(handle)), "");
        } finally {
            references.release();
        }
    }

    @Override
    public void close() {
        references.close();
    }

    MemorySegment handle() {
        return handle;
    }

    void retain() {
        if (!references.tryAcquire()) {
            throw new IllegalStateException("the event is closed");
        }
    }

    void release() {
        references.release();
    }
}
