package io.kvtier.bindings.cuda;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.RefCount;
import io.kvtier.bindings.cuda.gen.CudaFunctions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Owner of one allocation of GPU memory.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> {@link #close()} gives the owner's reference back; the memory is
 * freed when the last user that {@linkplain #retain() retained} it has released it, for example a cuFile registration:
 * freeing memory that is still registered can lock up the driver. <b>Blocking:</b> allocating and freeing may wait for
 * the device.
 */
public final class DeviceMemory implements AutoCloseable {
    private final DevicePointer pointer;
    private final CudaContext context;
    private final RefCount references;

    private DeviceMemory(final CudaContext context, final DevicePointer pointer) {
        this.context = context;
        this.pointer = pointer;
        NativeResources.created(NativeTag.DEVICE, pointer.byteSize());
        this.references = new RefCount(() -> free(context, pointer));
    }

    /**
     * Allocates; the content is undefined.
     *
     * @param context  in whose device.
     * @param byteSize bytes; more than 0. The driver aligns to at least 256.
     * @return the owner.
     * @throws CudaException CUDA_ERROR_OUT_OF_MEMORY when there is not so much.
     */
    public static DeviceMemory allocate(final CudaContext context, final long byteSize) {
        if (byteSize <= 0) {
            throw new IllegalArgumentException("device memory of " + byteSize + " bytes");
        }
        context.acquire();
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment out = arena.allocate(ValueLayout.JAVA_LONG);
            Cuda.check("cuMemAlloc", context.resultHeld(() -> CudaFunctions.cuMemAlloc_v2(out, byteSize)),
                byteSize + " bytes, " + context.device());
            return new DeviceMemory(context, new DevicePointer(out.get(ValueLayout.JAVA_LONG, 0), byteSize));
        } catch (final RuntimeException | Error e) {
            context.release();
            throw e;
        }
    }

    /**
     * The whole allocation.
     *
     * @return its range; not to be used after the memory has been freed.
     */
    public DevicePointer pointer() {
        return pointer;
    }

    /**
     * Takes a reference that keeps the memory from being freed.
     *
     * @throws IllegalStateException when closed.
     */
    public void retain() {
        if (!references.tryAcquire()) {
            throw closed();
        }
    }

    /**
     * Takes one more reference for somebody who holds one: a transfer that was begun before the memory was closed is
     * carried out whole, however many steps it has.
     *
     * @throws IllegalStateException when it is closed and nobody holds it.
     */
    public void share() {
        if (!references.tryShare()) {
            throw closed();
        }
    }

    private IllegalStateException closed() {
        return new IllegalStateException(pointer + " is closed");
    }

    /** Gives a reference back that {@link #retain()} or {@link #share()} took. */
    public void release() {
        references.release();
    }

    /**
     * Takes a reference that keeps the memory from being freed, unless it is closed.
     *
     * @return false when closed.
     */
    public boolean tryRetain() {
        return references.tryAcquire();
    }

    @Override
    public void close() {
        references.close();
    }

    private static void free(final CudaContext context, final DevicePointer pointer) {
        NativeResources.released(NativeTag.DEVICE, pointer.byteSize());
        try {
            Cuda.check("cuMemFree", context.resultHeld(() -> CudaFunctions.cuMemFree_v2(pointer.address())),
                pointer.toString());
        } finally {
            context.release();
        }
    }
}
