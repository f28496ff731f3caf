package io.kvtier.alloc.page;

import java.util.concurrent.locks.ReentrantLock;

/** The peer: the same search over a plain bitmap of one bit a page, with a hint, under one lock. */
final class LockedPages implements PageSource {
    private final ReentrantLock lock = new ReentrantLock();
    private final long[] words;
    private final int pages;
    private int hint;
    private long allocated;

    LockedPages(final int pages) {
        this.pages = pages;
        words = new long[pages + 63 >> 6];
    }

    @Override
    public long allocate(final long count) {
        lock.lock();
        try {
            int first = find(hint, pages, (int) count);
            if (first < 0) {
                first = find(0, Math.min(pages, hint + (int) count), (int) count);
            }
            if (first < 0) {
                return BitmapPageAllocator.NO_SPACE;
            }
            set(first, (int) count, true);
            hint = first + (int) count;
            allocated += count;
            return first;
        } finally {
            lock.unlock();
        }
    }

    private int find(final int from, final int to, final int count) {
        int page = from;
        int run = 0;
        while (page < to) {
            final long free = ~words[page >> 6] >>> (page & 63);
            if (free == 0) {
                run = 0;
                page = (page | 63) + 1;
            } else if ((free & 1) == 0) {
                run = 0;
                page += Long.numberOfTrailingZeros(free);
            } else {
                final int length = Math.min(Long.numberOfTrailingZeros(~free), 64 - (page & 63));
                run += length;
                page += length;
                if (run >= count && page - run + count <= pages) {
                    return page - run;
                }
            }
        }
        return -1;
    }

    private void set(final int first, final int count, final boolean value) {
        int page = first;
        int left = count;
        while (left > 0) {
            final int length = Math.min(left, 64 - (page & 63));
            final long mask = -1L >>> (64 - length) << (page & 63);
            words[page >> 6] = value ? words[page >> 6] | mask : words[page >> 6] & ~mask;
            page += length;
            left -= length;
        }
    }

    private boolean isSet(final int first, final int count) {
        int page = first;
        int left = count;
        while (left > 0) {
            final int length = Math.min(left, 64 - (page & 63));
            final long mask = -1L >>> (64 - length) << (page & 63);
            if ((words[page >> 6] & mask) != mask) {
                return false;
            }
            page += length;
            left -= length;
        }
        return true;
    }

    @Override
    public boolean free(final long first, final long count) {
        lock.lock();
        try {
            if (!isSet((int) first, (int) count)) {
                return false;
            }
            set((int) first, (int) count, false);
            hint = Math.min(hint, (int) first);
            allocated -= count;
            return true;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        // Nothing but heap.
    }
}
