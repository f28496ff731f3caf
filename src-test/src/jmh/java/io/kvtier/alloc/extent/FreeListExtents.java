package io.kvtier.alloc.extent;

import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The classic peer: free runs by offset and by size, best fit, immediate coalescing, one lock. It trusts its callers:
 * it keeps no record of what is live, so it cannot refuse a wrong free as the allocator does.
 */
final class FreeListExtents implements ExtentSource {
    private record Run(long size, long offset) {
    }

    private final ReentrantLock lock = new ReentrantLock();
    private final TreeMap<Long, Run> byOffset = new TreeMap<>();
    private final TreeSet<Run> bySize = new TreeSet<>(Comparator.comparingLong(Run::size)
        .thenComparingLong(Run::offset));
    private final long unit;
    private long allocated;

    FreeListExtents(final long capacity, final long unit) {
        this.unit = unit;
        add(0, capacity);
    }

    @Override
    public long allocate(final long sizeBytes) {
        final long size = sizeBytes + unit - 1 & -unit;
        lock.lock();
        try {
            final Run best = bySize.ceiling(new Run(size, 0));
            if (best == null) {
                return ExtentAllocator.NO_SPACE;
            }
            bySize.remove(best);
            byOffset.remove(best.offset);
            if (best.size > size) {
                add(best.offset + size, best.size - size);
            }
            allocated += size;
            return best.offset;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public boolean free(final long offsetBytes, final long sizeBytes) {
        long size = sizeBytes + unit - 1 & -unit;
        long offset = offsetBytes;
        lock.lock();
        try {
            allocated -= size;
            final Map.Entry<Long, Run> before = byOffset.lowerEntry(offset);
            if (before != null && before.getKey() + before.getValue().size == offset) {
                offset = before.getKey();
                size += before.getValue().size;
                bySize.remove(before.getValue());
                byOffset.remove(offset);
            }
            final Run after = byOffset.remove(offset + size);
            if (after != null) {
                bySize.remove(after);
                size += after.size;
            }
            add(offset, size);
            return true;
        } finally {
            lock.unlock();
        }
    }

    private void add(final long offset, final long size) {
        final Run run = new Run(size, offset);
        byOffset.put(offset, run);
        bySize.add(run);
    }

    @Override
    public long allocatedBytes() {
        lock.lock();
        try {
            return allocated;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        // Nothing but heap.
    }
}
