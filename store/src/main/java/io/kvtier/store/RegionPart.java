package io.kvtier.store;

import io.kvtier.alloc.RegionSlice;
import java.util.List;

/**
 * A part of a value of a batch, in regions: as many bytes as the memory has.
 *
 * <p><b>Lifetime:</b> keeps no region open; a call that is given it does.
 *
 * @param key    name of the value.
 * @param offset first byte of the part.
 * @param memory memory for it, in order.
 */
public record RegionPart(ObjectKey key, long offset, List<RegionSlice> memory) {
}
