package io.kvtier.alloc;

import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.DeviceMemory;
import io.kvtier.bindings.cuda.DevicePointer;
import java.util.Objects;

/**
 * Memory of a GPU: allocated here, or another library's (a tensor's).
 *
 * <p><b>Threading:</b> thread-safe; bytes are not synchronized. <b>Lifetime:</b> until {@link #close()}, and until the
 * last who retained it has released it. Borrowed memory is its owner's, who must not free it while a transfer uses it.
 */
public final class DeviceRegion implements MemoryRegion {
    private final CudaContext context;
    private final DevicePointer pointer;
    private final DeviceMemory memory;

    private DeviceRegion(final CudaContext context, final DevicePointer pointer, final DeviceMemory memory) {
        this.context = context;
        this.pointer = pointer;
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
        final DeviceMemory memory = DeviceMemory.allocate(context, bytes);
        return new DeviceRegion(context, memory.pointer(), memory);
    }

    /**
     * Names memory that another library allocated and keeps.
     *
     * @param context of the device that it is on; null when that is not known, which only transports that ask the
     *                driver themselves can use.
     * @param pointer live device memory within one allocation.
     * @return a region that owns nothing.
     */
    public static DeviceRegion borrow(final CudaContext context, final DevicePointer pointer) {
        return new DeviceRegion(context, Objects.requireNonNull(pointer, "pointer"), null);
    }

    /**
     * Where it is.
     *
     * @return the whole range.
     */
    public DevicePointer pointer() {
        return pointer;
    }

    /**
     * The allocation, for who registers it with a driver.
     *
     * @return the owner of the memory, not to be closed; null when the memory is borrowed.
     */
    public DeviceMemory memory() {
        return memory;
    }

    /**
     * The context of its device.
     *
     * @return the context; null when the memory is borrowed and nobody knew.
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
        return pointer.byteSize();
    }

    @Override
    public boolean tryRetain() {
        return memory == null || memory.tryRetain();
    }

    @Override
    public void release() {
        if (memory != null) {
            memory.release();
        }
    }

    @Override
    public void close() {
        if (memory != null) {
            memory.close();
        }
    }
}
