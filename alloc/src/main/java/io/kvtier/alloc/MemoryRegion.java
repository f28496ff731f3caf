package io.kvtier.alloc;

import java.lang.foreign.MemorySegment;

/**
 * Raw memory with one owner.
 *
 * <p><b>Threading:</b> thread-safe; bytes are not synchronized. <b>Lifetime:</b> whoever created it closes it, after
 * everything that holds a slice or an address of it has ended.
 */
public sealed interface MemoryRegion extends AutoCloseable permits HostRegion, MappedRegion, BorrowedRegion {
    /**
     * The memory, as a segment that checks bounds and lifetime.
     *
     * @return one segment over the whole region.
     */
    MemorySegment segment();

    /**
     * How long it is.
     *
     * @return bytes.
     */
    default long byteSize() {
        return segment().byteSize();
    }

    /**
     * A range of it.
     *
     * @param offset start in bytes.
     * @param length bytes.
     * @return the slice.
     * @throws IndexOutOfBoundsException when the range is not inside the region.
     */
    default RegionSlice slice(final long offset, final long length) {
        return new RegionSlice(this, offset, length);
    }

    /** Releases the memory if this owns it. A second call does nothing. */
    @Override
    void close();
}
