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
import org.jetbrains.lincheck.datastructures.ThreadIdGen;
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
     * Exact places within a word, right frees and wrong ones: every call is one compare-and-set, and answers are
     * strictly those of a sequential run. (What spans words answers for calls still running as its contract says, which
     * no sequential run can.)
     */
    @Param(name = "extent", gen = IntGen.class, conf = "0:4")
    public static class Places {
        private static final int[][] EXTENTS = {{0, 20}, {0, 10}, {10, 10}, {5, 3}, {40, 1}};
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

    /**
     * Calls that search. All of half a word, so that nobody ever holds part of one, and whether one succeeds does not
     * depend on places; every thread frees what is its own.
     */
    @Param(name = "thread", gen = ThreadIdGen.class)
    public static class Parts {
        private static final int PARTS = 3;
        private static final int LENGTH = 16;
        private final ExtentAllocator allocator = Extents.onHeap((long) PARTS * LENGTH, CHUNK, 1);
        private final long[][] held = new long[8][PARTS + 1];

        @Operation
        public boolean allocate(@Param(name = "thread") final int thread) {
            final long offset = allocator.allocate(LENGTH * UNIT);
            if (offset < 0) {
                return false;
            }
            held[thread][(int) ++held[thread][0]] = offset;
            return true;
        }

        @Operation
        public boolean free(@Param(name = "thread") final int thread) {
            return held[thread][0] > 0
                && allocator.free(held[thread][(int) held[thread][0]--], LENGTH * UNIT);
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
            if (allocator.markAllocated(offset, size)
                && (allocator.free(offset, size + UNIT) || allocator.free(offset, size - UNIT)
                || !allocator.free(offset, size))) {
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

    /** What is counted while others allocate and free: too much or too little, but never less than nothing. */
    public static class Counts {
        private final ExtentAllocator allocator = Extents.onHeap(UNITS, CHUNK, 1);

        @Operation
        public void allocateAndFree() {
            final long offset = allocator.allocate(UNIT);
            if (offset >= 0 && !allocator.free(offset, UNIT)) {
                throw new IllegalStateException("own extent not freed");
            }
        }

        @Operation
        public void count() {
            if (allocator.allocatedBytes() < 0) {
                throw new IllegalStateException("allocated " + allocator.allocatedBytes());
            }
        }
    }

    private static void explore(final Class<?> scenario) {
        new ModelCheckingOptions().iterations(5).invocationsPerIteration(200).threads(2).actorsPerThread(3)
            .actorsBefore(2).actorsAfter(1).check(scenario);
    }

    @Test
    void shouldMarkAndFreeExactPlacesInEveryInterleaving() {
        explore(Places.class);
    }

    @Test
    void shouldAllocateAndFreePartsInEveryInterleaving() {
        explore(Parts.class);
    }

    @Test
    void shouldNeverCountLessThanNothing() {
        explore(Counts.class);
    }

    @Test
    void shouldLoseNothingWhenClaimsAreGivenBack() {
        explore(Conflicts.class);
    }

    @Test
    void shouldAllocateAndFreePartsOnTheProcessor() {
        new StressOptions().iterations(4).invocationsPerIteration(200).threads(2).actorsPerThread(3)
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
