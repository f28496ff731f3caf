package io.kvtier.transport;

import io.kvtier.alloc.MemoryRegion;

/**
 * What a transport opens.
 *
 * @param address where it is.
 * @param region  the memory of a segment of this process; null for others.
 * @param token   what to show to another process; {@link AccessToken#NONE} for none.
 */
public record SegmentTarget(SegmentAddress address, MemoryRegion region, AccessToken token) {
}
