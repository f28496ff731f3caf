package io.kvtier.alloc.extent;

import java.util.SplittableRandom;

/**
 * How much of a space is in use when an allocation first fails, and while random extents are replaced for long.
 *
 * @param filling   share of the space in use at the first failure, after allocations only.
 * @param replacing mean share at the failures in the last tenth of the replacements.
 * @param lowest    the lowest share at any failure.
 */
record Utilization(double filling, double replacing, double lowest) {
    static final long SMALLEST = 4 << 10;
    static final long LARGEST = 16 << 20;

    /** Sizes are log-uniform, so that every power of two from 4 KiB to 16 MiB is as frequent as the others. */
    static long size(final SplittableRandom random) {
        return (long) (SMALLEST * Math.pow((double) LARGEST / SMALLEST, random.nextDouble()));
    }

    static Utilization measure(final ExtentSource allocator, final long capacity, final int replacements,
                               final long seed) {
        final SplittableRandom random = new SplittableRandom(seed);
        final long[] offsets = new long[(int) Math.min(capacity / 4096, 1 << 22)];
        final long[] sizes = new long[offsets.length];
        int live = 0;
        long size = size(random);
        long offset = allocator.allocate(size);
        while (offset >= 0) {
            offsets[live] = offset;
            sizes[live++] = size;
            size = size(random);
            offset = allocator.allocate(size);
        }
        final double filling = (double) allocator.allocatedBytes() / capacity;
        double sum = 0;
        long failures = 0;
        double lowest = 1;
        for (int i = 0; i < replacements; i++) {
            offset = allocator.allocate(size);
            while (offset < 0) {
                final double share = (double) allocator.allocatedBytes() / capacity;
                lowest = Math.min(lowest, share);
                if (i >= replacements - replacements / 10) {
                    sum += share;
                    failures++;
                }
                final int victim = random.nextInt(live);
                if (!allocator.free(offsets[victim], sizes[victim])) {
                    throw new AssertionError("a live extent could not be freed");
                }
                offsets[victim] = offsets[--live];
                sizes[victim] = sizes[live];
                offset = allocator.allocate(size);
            }
            offsets[live] = offset;
            sizes[live++] = size;
            size = size(random);
        }
        return new Utilization(filling, sum / Math.max(1, failures), lowest);
    }
}
