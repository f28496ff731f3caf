package io.kvtier.bindings.cuda;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.RefCount;
import io.kvtier.bindings.cuda.gen.CudaFunctions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.IntSupplier;

/**
 * Owner of one retain of a device's primary context.
 *
 * <p>CUDA keeps a current context for every thread. The owners of this package make theirs current around each of their
 * own calls and put back what the thread had. A thread that calls cuFile must have one current for as long: it
 * {@linkplain #enter() enters}.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> memory, streams and events made in it hold it; it is released when
 * the last of them and this owner have been closed. <b>Blocking:</b> retaining the first time initialises the device.
 */
public final class CudaContext implements AutoCloseable {
    private final CudaDevice device;
    private final MemorySegment handle;
    private final RefCount references;

    private CudaContext(final CudaDevice device, final MemorySegment handle) {
        this.device = device;
        this.handle = handle;
        NativeResources.created(NativeTag.CUDA_HANDLE, 0);
        this.references = new RefCount(() -> {
            NativeResources.released(NativeTag.CUDA_HANDLE, 0);
            Cuda.check("cuDevicePrimaryCtxRelease", CudaFunctions.cuDevicePrimaryCtxRelease_v2(device.handle()),
                device.toString());
        });
    }

    static CudaContext retain(final CudaDevice device) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment out = arena.allocate(ValueLayout.ADDRESS);
            Cuda.check("cuDevicePrimaryCtxRetain", CudaFunctions.cuDevicePrimaryCtxRetain(out, device.handle()),
                device.toString());
            return new CudaContext(device, out.get(ValueLayout.ADDRESS, 0));
        }
    }

    /** A context made current in the thread that made this; closing it, there, puts back what was current before. */
    public static final class Guard implements AutoCloseable {
        private final CudaContext context;
        private final MemorySegment before;
        private final Thread thread = Thread.currentThread();
        private boolean open = true;

        private Guard(final CudaContext context, final MemorySegment before) {
            this.context = context;
            this.before = before;
        }

        /**
         * The context that is current.
         *
         * @return the entered one.
         */
        public CudaContext context() {
            return context;
        }

        /**
         * Leaves. A second call does nothing.
         *
         * @throws IllegalStateException in another thread than the one that entered.
         */
        @Override
        public void close() {
            if (Thread.currentThread() != thread) {
                throw new IllegalStateException("entered in " + thread + ", left in " + Thread.currentThread());
            }
            if (open) {
                open = false;
                try {
                    setCurrent(before);
                } finally {
                    context.references.release();
                }
            }
        }
    }

    /**
     * Makes the context current in the calling thread. Use a platform thread: a virtual thread may go on elsewhere.
     *
     * @return to be closed by the same thread.
     * @throws IllegalStateException when closed, or in a virtual thread.
     */
    public Guard enter() {
        if (Thread.currentThread().isVirtual()) {
            throw new IllegalStateException("a CUDA context belongs to a platform thread; this one is virtual");
        }
        acquire();
        final MemorySegment before;
        try {
            before = current();
            setCurrent(handle);
        } catch (final RuntimeException | Error e) {
            references.release();
            throw e;
        }
        return new Guard(this, before);
    }

    /**
     * The device.
     *
     * @return whose primary context this is.
     */
    public CudaDevice device() {
        return device;
    }

    /**
     * Device memory that nobody has allocated.
     *
     * @return bytes, at this moment.
     */
    public long freeBytes() {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment free = arena.allocate(ValueLayout.JAVA_LONG);
            final MemorySegment total = arena.allocate(ValueLayout.JAVA_LONG);
            call("cuMemGetInfo", device.toString(), () -> CudaFunctions.cuMemGetInfo_v2(free, total));
            return free.get(ValueLayout.JAVA_LONG, 0);
        }
    }

    /** Waits until the device has done all that was asked of it in this context. */
    public void synchronize() {
        call("cuCtxSynchronize", device.toString(), CudaFunctions::cuCtxSynchronize);
    }

    @Override
    public void close() {
        references.close();
    }

    /** Runs a driver call with this context current; a result that is no success becomes an exception. */
    void call(final String name, final String detail, final IntSupplier body) {
        Cuda.check(name, result(body), detail);
    }

    /** Runs a driver call with this context current and gives its result. */
    int result(final IntSupplier body) {
        acquire();
        try {
            return resultHeld(body);
        } finally {
            references.release();
        }
    }

    /** As {@link #result}, for owners that hold a reference: it works when the context's owner has closed already. */
    int resultHeld(final IntSupplier body) {
        final MemorySegment before = current();
        final boolean foreign = before.address() != handle.address();
        if (foreign) {
            setCurrent(handle);
        }
        try {
            return body.getAsInt();
        } finally {
            if (foreign) {
                setCurrent(before);
            }
        }
    }

    void acquire() {
        if (!references.tryAcquire()) {
            throw new IllegalStateException("the CUDA context of " + device + " is closed");
        }
    }

    void release() {
        references.release();
    }

    private static MemorySegment current() {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment out = arena.allocate(ValueLayout.ADDRESS);
            Cuda.check("cuCtxGetCurrent", CudaFunctions.cuCtxGetCurrent(out), "");
            return out.get(ValueLayout.ADDRESS, 0);
        }
    }

    private static void setCurrent(final MemorySegment context) {
        Cuda.check("cuCtxSetCurrent", CudaFunctions.cuCtxSetCurrent(context), "");
    }
}
