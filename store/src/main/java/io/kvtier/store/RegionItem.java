package io.kvtier.store;

import io.kvtier.alloc.RegionSlice;
import java.util.List;

/**
 * One value of a batch, in regions.
 *
 * <p><b>Lifetime:</b> keeps no region open; a call that is given it does.
 *
 * @param key    its name.
 * @param memory its bytes, or memory for them, in order.
 */
public record RegionItem(ObjectKey key, List<RegionSlice> memory) {
    /**
     * One value in one range.
     *
     * @param key    its name.
     * @param memory its bytes, or memory for them.
     * @return the item.
     */
    public static RegionItem of(final ObjectKey key, final RegionSlice memory) {
        return new RegionItem(key, List.of(memory));
    }
}
