package io.kvtier.alloc.extent;

import static io.kvtier.alloc.extent.Extents.UNIT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.bits.Parallel;
import io.kvtier.kit.LeakCheck;
import java.util.SplittableRandom;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Threads at once: every interleaving of a few calls, then many calls with every unit stamped by its owner. */
@ExtendWith(LeakCheck.class)
final class ExtentAllocatorStress {
    private static final int UNITS = 70;
    private static final int CHUNK = 32;
    private static final int THREADS = 4;

    /**
     * Exact places, of which any two meet in their last words, so that no claim is given back and answers are strictly
     * those of a sequential run. Two begin at the same unit, so a free with the wrong length races the right one.
     */
    @Param(name = "extent", gen = IntGen.class, conf = "0:3")
    public static class Places {
        private static final int[][] EXTENTS = {{0, 40}, {0, 33}, {20, 14}, {32, 8}};
        private final ExtentAllocator allocator = Extents.onHeap(UNITS, CHUNK, 1);

        @Operation
        public boolean mark(@Param(name = "extent") final int extent) {
            return allocator.markAllocated(EXTENTS[extent][0] * UNIT, EXTENTS[extent][1] * UNIT);
        }

        @Operation
        public boolean free(@Param(name = "extent") final int extent) {
            return allocator.free(EXTENTS[extent][0] * UNIT, EXTENTS[extent][1] * UNIT);
        }
    }

    /** Calls that search. All of one length, half of the space, so that success does not depend on places. */
    @Param(name = "half", gen = IntGen.class, conf = "0:1")
    public static class Halves {
        private static final long HALF = 35 * UNIT;
        private final ExtentAllocator allocator = Extents.onHeap(UNITS, CHUNK, 1);

        @Operation
        public boolean allocate() {
            return allocator.allocate(HALF) >= 0;
        }

        @Operation
        public boolean free(@Param(name = "half") final int half) {
            return allocator.free(half * HALF, HALF);
        }
    }

    /** As {@link Halves}, but within chunks, so that the tree proves that there is nothing. */
    @Param(name = "part", gen = IntGen.class, conf = "0:2")
    public static class Parts {
        private static final long PART = 20 * UNIT;
        private final ExtentAllocator allocator = Extents.onHeap(60, CHUNK, 1);

        @Operation
        public boolean allocate() {
            return allocator.allocate(PART) >= 0;
        }

        @Operation
        public boolean free(@Param(name = "part") final int part) {
            return allocator.free(part * PART, PART);
        }
    }

    /**
     * Claims in each other's way, which are given back. What a call still holds may make another fail, so it is not the
     * answers that are checked but that nothing is lost: afterwards bounds and counts are right.
     */
    @Param(name = "extent", gen = IntGen.class, conf = "0:5")
    public static class Conflicts {
        private static final int[][] EXTENTS = {{0, 40}, {30, 5}, {34, 36}, {64, 6}, {0, 3}, {10, 60}};
        private final ExtentAllocator allocator = Extents.onHeap(UNITS, CHUNK, 1);

        @Operation
        public void markAndFree(@Param(name = "extent") final int extent) {
            final long offset = EXTENTS[extent][0] * UNIT;
            final long size = EXTENTS[extent][1] * UNIT;
            if (allocator.markAllocated(offset, size) && !allocator.free(offset, size)) {
                throw new IllegalStateException("own extent not freed");
            }
        }

        @Operation
        public void allocateAndFree(@Param(name = "extent") final int extent) {
            final long size = EXTENTS[extent][1] * UNIT;
            final long offset = allocator.allocate(size);
            if (offset >= 0 && !allocator.free(offset, size)) {
                throw new IllegalStateException("own extent not freed");
            }
        }

        @Validate
        public void nothingIsLost() {
            if (allocator.allocatedBytes() != 0 || allocator.largestFreeBytes() != UNITS * UNIT) {
                throw new IllegalStateException("allocated " + allocator.allocatedBytes() + ", largest free "
                    + allocator.largestFreeBytes());
            }
            for (final long units : new long[] {CHUNK, UNITS}) {
                final long offset = allocator.allocate(units * UNIT);
                if (offset < 0 || !allocator.free(offset, units * UNIT)) {
                    throw new IllegalStateException("no run of " + units + " in an empty space");
                }
            }
        }
    }

    private static void explore(final Class<?> scenario) {
        new ModelCheckingOptions().iterations(25).invocationsPerIteration(1_000).threads(2).actorsPerThread(3)
            .actorsBefore(2).actorsAfter(2).check(scenario);
    }

    @Test
    void shouldMarkAndFreeExactPlacesInEveryInterleaving() {
        explore(Places.class);
    }

    @Test
    void shouldAllocateAndFreeHalvesInEveryInterleaving() {
        explore(Halves.class);
    }

    @Test
    void shouldAllocateAndFreePartsInEveryInterleaving() {
        explore(Parts.class);
    }

    @Test
    void shouldLoseNothingWhenClaimsAreGivenBack() {
        explore(Conflicts.class);
    }

    @Test
    void shouldAllocateAndFreePartsOnTheProcessor() {
        new StressOptions().iterations(15).invocationsPerIteration(2_000).threads(2).actorsPerThread(3)
            .actorsBefore(2).actorsAfter(2).check(Parts.class);
    }

    @Test
    void shouldNeverGiveAUnitToTwoOwners() {
        final int units = 3_000;
        try (ExtentAllocator allocator = Extents.offHeap(units, 64, THREADS)) {
            final AtomicLongArray owners = new AtomicLongArray(units);
            Parallel.run(THREADS, thread -> churn(allocator, owners, thread + 1, 40, units / 4));
            assertEquals(0, allocator.allocatedBytes());
            assertEquals(units * UNIT, allocator.largestFreeBytes());
            final long all = allocator.allocate(units * UNIT);
            assertEquals(0, all);
            assertTrue(allocator.free(all, units * UNIT));
        }
    }

    private static void churn(final ExtentAllocator allocator, final AtomicLongArray owners, final int owner,
                              final int most, final int longest) {
        final SplittableRandom random = new SplittableRandom(owner);
        final long[][] held = new long[most][];
        for (int i = 0; i < 150_000; i++) {
            final int slot = random.nextInt(most);
            if (held[slot] == null) {
                final int length = (int) Math.pow(longest, random.nextDouble());
                final long offset = allocator.allocate(length * UNIT);
                if (offset >= 0) {
                    held[slot] = new long[] {offset / UNIT, length};
                    stamp(owners, held[slot], 0, owner);
                }
            } else {
                release(allocator, owners, held[slot], owner);
                held[slot] = null;
            }
        }
        for (final long[] extent : held) {
            if (extent != null) {
                release(allocator, owners, extent, owner);
            }
        }
    }

    private static void release(final ExtentAllocator allocator, final AtomicLongArray owners, final long[] extent,
                                final int owner) {
        final long offset = extent[0] * UNIT;
        final long size = extent[1] * UNIT;
        assertEquals(size, allocator.extentSize(offset));
        assertFalse(allocator.free(offset, size + UNIT), "one unit too many");
        assertFalse(size > UNIT && allocator.free(offset, size - UNIT), "one unit too few");
        assertFalse(size > UNIT && allocator.free(offset + UNIT, size - UNIT), "begins one unit late");
        assertFalse(allocator.markAllocated(offset, UNIT), "taken already");
        stamp(owners, extent, owner, 0);
        assertTrue(allocator.free(offset, size), "own extent refused");
    }

    private static void stamp(final AtomicLongArray owners, final long[] extent, final long expected,
                              final long owner) {
        for (int unit = (int) extent[0]; unit < extent[0] + extent[1]; unit++) {
            assertTrue(owners.compareAndSet(unit, expected, owner), "two owners of a unit");
        }
    }

    @Test
    void shouldNeverMissARunThatIsThereAtAllTimes() {
        // Each thread has one extent and one call under way: at most 8 extents, 9 gaps, so one gap is long enough.
        final int longest = 60;
        final int units = 17 * longest;
        for (final int chunkUnits : new int[] {32, 64, 4096}) {
            try (ExtentAllocator allocator = Extents.offHeap(units, chunkUnits, THREADS)) {
                Parallel.run(THREADS, thread -> {
                    final SplittableRandom random = new SplittableRandom(thread);
                    for (int i = 0; i < 100_000; i++) {
                        final long size = (1 + random.nextInt(longest)) * UNIT;
                        final long offset = allocator.allocate(size);
                        assertTrue(offset >= 0, "no space, though there is always some");
                        assertTrue(allocator.free(offset, size));
                    }
                });
                assertEquals(0, allocator.allocatedBytes());
            }
        }
    }

    @Test
    void shouldLetOnlyOneOfTwoFreesSucceed() {
        final AtomicInteger freed = new AtomicInteger();
        final CyclicBarrier round = new CyclicBarrier(2);
        final int rounds = 5_000;
        try (ExtentAllocator allocator = Extents.offHeap(500, 64, 1)) {
            Parallel.run(2, thread -> {
                for (int i = 0; i < rounds; i++) {
                    final int length = 1 + i % 200;
                    await(round);
                    if (thread == 0) {
                        assertTrue(allocator.markAllocated(length * UNIT, length * UNIT));
                    }
                    await(round);
                    if (allocator.free(length * UNIT, length * UNIT)) {
                        freed.incrementAndGet();
                    }
                }
            });
            assertEquals(rounds, freed.get());
            assertEquals(0, allocator.allocatedBytes());
        }
    }

    private static void await(final CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (final Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
