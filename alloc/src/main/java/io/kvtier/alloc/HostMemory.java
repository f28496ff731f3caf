package io.kvtier.alloc;

import java.lang.foreign.MemorySegment;

/** A region that the processor can read and write. */
public sealed interface HostMemory extends MemoryRegion
    permits HostRegion, PinnedRegion, MappedRegion, SharedRegion, BorrowedRegion {
    /**
     * The memory, as a segment that checks bounds and lifetime.
     *
     * @return one segment over the whole region.
     */
    MemorySegment segment();

    /**
     * Makes sure that an access of this thread to a page that is gone (a mapped file that was cut) has been heard of.
     * The JVM reports it at its next safe point, which compiled code may reach long after the copy, in a caller that
     * took the copy for good. To be called behind a copy and inside the {@code try} around it.
     *
     * @throws InternalError when there was such an access.
     */
    default void raiseFault() {
        // Only a mapped file can lose its pages.
    }

    @Override
    default long byteSize() {
        return segment().byteSize();
    }
}
