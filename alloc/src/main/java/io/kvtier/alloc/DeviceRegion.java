package io.kvtier.alloc;

import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.DeviceMemory;
import io.kvtier.bindings.cuda.DevicePointer;

/**
 * Memory of a GPU.
 *
 * <p><b>Threading:</b> thread-safe; bytes are not synchronized. <b>Lifetime:</b> until {@link #close()}, and until the
 * last who retained it has released it.
 */
public final class DeviceRegion implements MemoryRegion {
    private final CudaContext context;
    private final DeviceMemory memory;

    private DeviceRegion(final CudaContext context, final DeviceMemory memory) {
        this.context = context;
        this.memory = memory;
    }

    /**
     * Allocates; the content is undefined.
     *
     * @param context whose device; it stays the caller's and must be closed after the region.
     * @param bytes   how much, more than 0.
     * @return the owner.
     * @throws io.kvtier.bindings.cuda.CudaException when the device has not so much left.
     */
    public static DeviceRegion allocate(final CudaContext context, final long bytes) {
        return new DeviceRegion(context, DeviceMemory.allocate(context, bytes));
    }

    /**
     * Where it is.
     *
     * @return the whole allocation.
     */
    public DevicePointer pointer() {
        return memory.pointer();
    }

    /**
     * The allocation, for who registers it with a driver.
     *
     * @return the owner of the memory; not to be closed.
     */
    public DeviceMemory memory() {
        return memory;
    }

    /**
     * In which context it was allocated.
     *
     * @return the context.
     */
    public CudaContext context() {
        return context;
    }

    @Override
    public MemoryKind kind() {
        return MemoryKind.DEVICE;
    }

    @Override
    public long byteSize() {
        return memory.pointer().byteSize();
    }

    @Override
    public boolean tryRetain() {
        return memory.tryRetain();
    }

    @Override
    public void release() {
        memory.release();
    }

    @Override
    public void close() {
        memory.close();
    }
}
