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
 * Owner of a stream: an order in which a device works off what it is given.
 *
 * <p><b>Threading:</b> thread-safe; the order is that of the calls. <b>Lifetime:</b> closing does not cancel: the
 * driver frees the stream when its work is done. Memory of that work must outlive it: {@link #synchronize()} first.
 * <b>Blocking:</b> only {@link #synchronize()}.
 */
public final class CudaStream implements AutoCloseable {
    private final CudaContext context;
    private final MemorySegment handle;
    private final RefCount references;

    private CudaStream(final CudaContext context, final MemorySegment handle) {
        this.context = context;
        this.handle = handle;
        NativeResources.created(NativeTag.CUDA_HANDLE, 0);
        this.references = new RefCount(() -> {
            NativeResources.released(NativeTag.CUDA_HANDLE, 0);
            try {
                Cuda.check("cuStreamDestroy", context.resultHeld(() -> CudaFunctions.cuStreamDestroy_v2(handle)), "");
            } finally {
                context.release();
            }
        });
    }

    /**
     * Makes a stream that does not wait for the default stream, nor that for it.
     *
     * @param context in which.
     * @return the owner.
     */
    public static CudaStream create(final CudaContext context) {
        context.acquire();
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment out = arena.allocate(ValueLayout.ADDRESS);
            Cuda.check("cuStreamCreate", context.resultHeld(
                () -> CudaFunctions.cuStreamCreate(out, CudaTypes.CU_STREAM_NON_BLOCKING())), "");
            return new CudaStream(context, out.get(ValueLayout.ADDRESS, 0));
        } catch (final RuntimeException | Error e) {
            context.release();
            throw e;
        }
    }

    /** Waits until everything given to the stream so far is done. */
    public void synchronize() {
        retain();
        try {
            awaitHandle();
        } finally {
            references.release();
        }
    }

    /**
     * Whether everything given to the stream so far is done.
     *
     * @return true when it rests.
     * @throws CudaException when something given to it failed.
     */
    public boolean idle() {
        retain();
        try {
            final int result = context.resultHeld(() -> CudaFunctions.cuStreamQuery(handle));
            if (result == CudaTypes.CUDA_ERROR_NOT_READY()) {
                return false;
            }
            Cuda.check("cuStreamQuery", result, "");
            return true;
        } finally {
            references.release();
        }
    }

    /**
     * Lets what is given to the stream from now on wait for an event.
     *
     * @param event recorded already, in this stream or another.
     */
    public void await(final CudaEvent event) {
        retain();
        try {
            event.retain();
            try {
                Cuda.check("cuStreamWaitEvent", context.resultHeld(
                    () -> CudaFunctions.cuStreamWaitEvent(handle, event.handle(), 0)), "");
            } finally {
                event.release();
            }
        } finally {
            references.release();
        }
    }

    /**
     * Takes a reference and gives the driver's handle, for a binding that passes it to another library. Each call is
     * answered by one {@link #releaseHandle()}.
     *
     * @return the address of the stream's handle.
     * @throws IllegalStateException when closed.
     */
    public long acquireHandle() {
        retain();
        return handle.address();
    }

    /** As {@link #synchronize()}, for a holder of the handle: it works when the stream's owner has closed already. */
    public void awaitHandle() {
        Cuda.check("cuStreamSynchronize", context.resultHeld(() -> CudaFunctions.cuStreamSynchronize(handle)), "");
    }

    /** Gives back what {@link #acquireHandle()} took. */
    public void releaseHandle() {
        references.release();
    }

    @Override
    public void close() {
        references.close();
    }

    MemorySegment handle() {
        return handle;
    }

    CudaContext context() {
        return context;
    }

    void retain() {
        if (!references.tryAcquire()) {
            throw new IllegalStateException("the stream is closed");
        }
    }

    void release() {
        references.release();
    }
}
