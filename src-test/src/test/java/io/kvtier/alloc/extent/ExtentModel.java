package io.kvtier.alloc.extent;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What an extent allocator must agree with: a sorted map from first unit to length. */
final class ExtentModel {
    private final TreeMap<Long, Long> live = new TreeMap<>();
    private final long units;

    ExtentModel(final long units) {
        this.units = units;
    }

    boolean isFree(final long first, final long count) {
        if (first < 0 || first + count > units) {
            return false;
        }
        final Map.Entry<Long, Long> before = live.lowerEntry(first + count);
        return before == null || before.getKey() + before.getValue() <= first;
    }

    void add(final long first, final long count) {
        live.put(first, count);
    }

    boolean remove(final long first, final long count) {
        return live.remove(first, count);
    }

    long longestFree() {
        long longest = 0;
        long end = 0;
        for (final Map.Entry<Long, Long> extent : live.entrySet()) {
            longest = Math.max(longest, extent.getKey() - end);
            end = extent.getKey() + extent.getValue();
        }
        return Math.max(longest, units - end);
    }

    long allocated() {
        return live.values().stream().mapToLong(Long::longValue).sum();
    }

    long length(final long first) {
        return live.getOrDefault(first, 0L);
    }

    List<long[]> extents() {
        final List<long[]> all = new ArrayList<>();
        live.forEach((first, count) -> all.add(new long[] {first, count}));
        return all;
    }
}
