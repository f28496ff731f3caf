package io.kvtier.alloc;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Memory that belongs to a caller: named for the length of a transfer, never released here.
 *
 * <p><b>Threading:</b> that of the caller's segment; a confined one can only be used by its own thread.
 * <b>Lifetime:</b> the caller's, who must not free the memory while a transfer uses it: nothing here can keep an arena
 * open.
 */
public final class BorrowedRegion implements HostMemory {
    private final MemorySegment memory;

    /**
     * Names a caller's memory.
     *
     * @param memory native or heap memory.
     */
    public BorrowedRegion(final MemorySegment memory) {
        this.memory = Objects.requireNonNull(memory, "memory");
    }

    @Override
    public MemorySegment segment() {
        return memory;
    }

    /** Takes what is pending where the memory may be mapped from a file: nothing here knows where it comes from. */
    @Override
    public void raiseFault() {
        if (memory.isNative()) {
            PageFaults.raise();
        }
    }

    @Override
    public MemoryKind kind() {
        return MemoryKind.HOST;
    }

    @Override
    public boolean tryRetain() {
        return memory.scope().isAlive();
    }

    @Override
    public void release() {
        // The caller releases what the caller allocated.
    }

    /** Does nothing: the memory is the caller's. */
    @Override
    public void close() {
        // The caller releases what the caller allocated.
    }
}
