package io.kvtier.store.master.state;

import io.kvtier.alloc.extent.ExtentAllocator;
import io.kvtier.alloc.page.BitmapPageAllocator;

/**
 * Which ranges of a segment are taken. Lengths and offsets are multiples of a unit.
 *
 * <p>One thread at a time allocates here, and placement must depend on nothing but the commands: so the allocators have
 * one lane.
 */
sealed interface Ranges extends AutoCloseable {
    /** What {@link #allocate} answers when there is no range. */
    long NO_SPACE = -1;
    /** Lanes of the allocators. */
    int LANES = 1;

    /** The first byte of a range that is taken from now on, or {@link #NO_SPACE}. */
    long allocate(long bytes);

    /** Takes exactly this range; false when some of it is taken already. */
    boolean markAllocated(long offset, long bytes);

    /** Gives a range back; false when it is not taken. */
    boolean free(long offset, long bytes);

    long capacityBytes();

    long allocatedBytes();

    long unitBytes();

    /** Frees the allocator's tables. */
    @Override
    void close();

    /** Extents of any length. */
    record Extents(ExtentAllocator allocator) implements Ranges {
        Extents(final long capacity, final long unit) {
            this(ExtentAllocator.create(capacity, unit, LANES));
        }

        @Override
        public long allocate(final long bytes) {
            return allocator.allocate(bytes);
        }

        @Override
        public boolean markAllocated(final long offset, final long bytes) {
            return allocator.markAllocated(offset, bytes);
        }

        @Override
        public boolean free(final long offset, final long bytes) {
            return allocator.free(offset, bytes);
        }

        @Override
        public long capacityBytes() {
            return allocator.capacityBytes();
        }

        @Override
        public long allocatedBytes() {
            return allocator.allocatedBytes();
        }

        @Override
        public long unitBytes() {
            return allocator.unitBytes();
        }

        @Override
        public void close() {
            allocator.close();
        }
    }

    /** Runs of pages. */
    record Pages(BitmapPageAllocator allocator, long capacityBytes, long unitBytes) implements Ranges {
        Pages(final long capacityBytes, final long pageBytes) {
            this(BitmapPageAllocator.create(capacityBytes / pageBytes, LANES), capacityBytes, pageBytes);
        }

        @Override
        public long allocate(final long bytes) {
            final long first = allocator.allocate(bytes / unitBytes);
            return first == BitmapPageAllocator.NO_SPACE ? NO_SPACE : first * unitBytes;
        }

        @Override
        public boolean markAllocated(final long offset, final long bytes) {
            return allocator.markAllocated(offset / unitBytes, bytes / unitBytes);
        }

        @Override
        public boolean free(final long offset, final long bytes) {
            return allocator.free(offset / unitBytes, bytes / unitBytes);
        }

        @Override
        public long allocatedBytes() {
            return allocator.allocatedCount() * unitBytes;
        }

        @Override
        public void close() {
            allocator.close();
        }
    }
}
