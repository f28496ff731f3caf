package io.kvtier.alloc;

import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.PinnedMemory;
import java.lang.foreign.MemorySegment;

/**
 * Host memory that the driver of a GPU allocated and keeps in place, so that a device copies from and to it without
 * staging.
 *
 * <p><b>Threading:</b> thread-safe; bytes are not synchronized. <b>Lifetime:</b> until {@link #close()}, and until the
 * last who retained it has released it.
 */
public final class PinnedRegion implements HostMemory {
    private final PinnedMemory memory;

    private PinnedRegion(final PinnedMemory memory) {
        this.memory = memory;
    }

    /**
     * Allocates; the content is undefined.
     *
     * @param context whose driver allocates; every context may use the memory.
     * @param bytes   how much, more than 0.
     * @return the owner.
     * @throws io.kvtier.bindings.cuda.CudaException when the host cannot pin so much.
     */
    public static PinnedRegion allocate(final CudaContext context, final long bytes) {
        return new PinnedRegion(PinnedMemory.allocate(context, bytes));
    }

    @Override
    public MemorySegment segment() {
        return memory.segment();
    }

    @Override
    public MemoryKind kind() {
        return MemoryKind.PINNED;
    }

    @Override
    public boolean tryRetain() {
        return memory.tryRetain();
    }

    @Override
    public void release() {
        memory.release();
    }

    /**
     * Gives the memory back. A second call does nothing.
     *
     * @throws IllegalStateException when a native call of somebody who does not retain it is using it now; it then
     *                               stays open, and closing it again later works.
     */
    @Override
    public void close() {
        memory.close();
    }
}
