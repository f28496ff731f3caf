package io.kvtier.transport.gds;

import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.MemoryKind;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.PinnedMemory;

/**
 * Makes host memory known to CUDA: an entry of a batch whose address CUDA does not know can end the process.
 *
 * <p><b>Threading:</b> thread-safe.
 */
@FunctionalInterface
interface HostPins {
    /** CUDA itself. Memory that it allocated is known already. */
    HostPins CUDA = (context, memory) -> {
        if (memory.kind() == MemoryKind.PINNED) {
            return () -> { };
        }
        return PinnedMemory.register(context, memory.segment())::close;
    };

    /**
     * Pins memory.
     *
     * @param context of any GPU; null in a simulation.
     * @param memory  held by the caller.
     * @return undoes it; throws when it cannot, and the memory must then be kept.
     * @throws io.kvtier.bindings.cuda.CudaException when it cannot be pinned.
     */
    Runnable pin(CudaContext context, HostMemory memory);
}
