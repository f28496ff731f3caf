package io.kvtier.alloc;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * A range of a region.
 *
 * <p><b>Threading:</b> immutable. <b>Lifetime:</b> of its region, which it does not keep open.
 *
 * @param region the region.
 * @param offset start in bytes.
 * @param length bytes.
 */
public record RegionSlice(MemoryRegion region, long offset, long length) {
    /**
     * Checks the range.
     *
     * @param region the region.
     * @param offset start in bytes.
     * @param length bytes.
     */
    public RegionSlice {
        Objects.checkFromIndexSize(offset, length, region.byteSize());
    }

    /**
     * A slice over a caller's own memory.
     *
     * @param memory native or heap memory.
     * @return a slice over all of it.
     */
    public static RegionSlice of(final MemorySegment memory) {
        return new RegionSlice(new BorrowedRegion(memory), 0, memory.byteSize());
    }

    /**
     * The bytes of the slice.
     *
     * @return a segment that checks bounds and lifetime.
     * @throws UnsupportedOperationException for memory of a device, which cannot be dereferenced.
     */
    public MemorySegment segment() {
        if (region instanceof HostMemory host) {
            return host.segment().asSlice(offset, length);
        }
        throw new UnsupportedOperationException("memory of a device cannot be dereferenced: " + region
            + "; copy it to host memory with a transfer");
    }
}
