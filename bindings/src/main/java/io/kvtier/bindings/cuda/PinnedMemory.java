package io.kvtier.bindings.cuda;

import io.kvtier.bindings.Arenas;
import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.RefCount;
import io.kvtier.bindings.cuda.gen.CudaFunctions;
import io.kvtier.bindings.cuda.gen.CudaTypes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.IntSupplier;

/**
 * Owner of host memory that the driver keeps in place, so that a device copies from and to it without staging:
 * allocated by the driver, or somebody's memory registered with it.
 *
 * <p><b>Threading:</b> the segment may be used by every thread. <b>Lifetime:</b> after {@link #close()} an allocated
 * segment can no longer be accessed; a registered one goes on as ordinary memory. No copy may be running on it then:
 * synchronise the stream first. <b>Blocking:</b> allocating and closing take milliseconds for gigabytes, and closing
 * an allocated one makes every thread pass a handshake: few, and long-lived.
 */
public final class PinnedMemory implements AutoCloseable {
    private final MemorySegment segment;
    /** Of the accesses to allocated memory, which is freed when it is closed; null for registered memory. */
    private final Arena arena;
    private final RefCount references;

    private PinnedMemory(final MemorySegment segment, final Arena arena, final Runnable release) {
        this.segment = segment;
        this.arena = arena;
        this.references = new RefCount(arena == null ? release : this::free);
    }

    /**
     * Allocates; the content is undefined.
     *
     * @param context  whose driver allocates; every context may use the memory.
     * @param byteSize bytes; more than 0.
     * @return the owner.
     * @throws CudaException CUDA_ERROR_OUT_OF_MEMORY when the host cannot pin so much.
     */
    @SuppressWarnings("restricted")
    public static PinnedMemory allocate(final CudaContext context, final long byteSize) {
        if (byteSize <= 0) {
            throw new IllegalArgumentException("pinned memory of " + byteSize + " bytes");
        }
        context.acquire();
        try (Arena temporary = Arena.ofConfined()) {
            final MemorySegment out = temporary.allocate(ValueLayout.ADDRESS);
            Cuda.check("cuMemHostAlloc", context.resultHeld(() -> CudaFunctions.cuMemHostAlloc(out, byteSize,
                CudaTypes.CU_MEMHOSTALLOC_PORTABLE())), byteSize + " bytes");
            final MemorySegment pinned = out.get(ValueLayout.ADDRESS, 0);
            return of(pinned, byteSize,
                () -> releasing(context, "cuMemFreeHost", () -> CudaFunctions.cuMemFreeHost(pinned)));
        } catch (final RuntimeException | Error e) {
            context.release();
            throw e;
        }
    }

    /**
     * Allocated memory.
     *
     * @param start    where it is.
     * @param byteSize how much it is.
     * @param free     gives it back; called once.
     */
    @SuppressWarnings("restricted")
    static PinnedMemory of(final MemorySegment start, final long byteSize, final Runnable free) {
        final Arena arena = Arena.ofShared();
        NativeResources.created(NativeTag.PINNED, byteSize);
        return new PinnedMemory(start.reinterpret(byteSize, arena, gone -> countedOff(byteSize, free)), arena, null);
    }

    /**
     * Pins memory that somebody else owns and that outlives this registration.
     *
     * @param context whose driver registers; every context may use the memory.
     * @param memory  native; whole pages are pinned.
     * @return the owner of the registration.
     */
    public static PinnedMemory register(final CudaContext context, final MemorySegment memory) {
        if (!memory.isNative() || memory.byteSize() == 0) {
            throw new IllegalArgumentException("only native memory can be pinned, not " + memory);
        }
        context.acquire();
        try {
            Cuda.check("cuMemHostRegister", context.resultHeld(() -> CudaFunctions.cuMemHostRegister_v2(memory,
                memory.byteSize(), CudaTypes.CU_MEMHOSTREGISTER_PORTABLE())), memory.byteSize() + " bytes");
            NativeResources.created(NativeTag.PINNED, memory.byteSize());
            return new PinnedMemory(memory, null, () -> countedOff(memory.byteSize(), () -> releasing(context,
                "cuMemHostUnregister", () -> CudaFunctions.cuMemHostUnregister(memory))));
        } catch (final RuntimeException | Error e) {
            context.release();
            throw e;
        }
    }

    /**
     * The memory.
     *
     * @return native.
     */
    public MemorySegment segment() {
        return segment;
    }

    /**
     * Takes a reference that keeps the memory from being freed, unless it is closed.
     *
     * @return false when closed.
     */
    public boolean tryRetain() {
        return references.tryAcquire();
    }

    /** Gives a reference back that {@link #tryRetain()} took. */
    public void release() {
        references.release();
    }

    /**
     * Frees allocated memory, and lets go of registered memory. A second call does nothing.
     *
     * @throws IllegalStateException when a native call of somebody who does not retain it is using it now; it then
     *                               stays open, and closing it again later works.
     */
    @Override
    public void close() {
        if (arena != null && references.isReleased()) {
            free();
        } else {
            references.close();
        }
    }

    private void free() {
        Arenas.close(arena);
    }

    private static void countedOff(final long byteSize, final Runnable free) {
        NativeResources.released(NativeTag.PINNED, byteSize);
        free.run();
    }

    private static void releasing(final CudaContext context, final String call, final IntSupplier body) {
        try {
            Cuda.check(call, context.resultHeld(body), "");
        } finally {
            context.release();
        }
    }
}
