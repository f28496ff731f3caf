package io.kvtier.alloc.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.bits.Parallel;
import io.kvtier.kit.LeakCheck;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Threads at once: every interleaving of a few calls, then many calls with every page stamped by its owner. */
@ExtendWith(LeakCheck.class)
final class BitmapPageAllocatorStress {
    private static final int THREADS = 4;

    /** Runs within a word: answers are strictly those of a sequential run. */
    @Param(name = "page", gen = IntGen.class, conf = "0:2")
    @Param(name = "count", gen = IntGen.class, conf = "1:3")
    public static class Places {
        private final BitmapPageAllocator allocator = Pages.onHeap(3);

        @Operation
        public boolean mark(@Param(name = "page") final int page, @Param(name = "count") final int count) {
            return allocator.markAllocated(page, count);
        }

        @Operation
        public boolean free(@Param(name = "page") final int page, @Param(name = "count") final int count) {
            return allocator.free(page, count);
        }

        @Operation
        public boolean isAllocated(@Param(name = "page") final int page) {
            return allocator.isAllocated(page);
        }

        @Operation
        public boolean allocate() {
            return allocator.allocate(1) >= 0;
        }
    }

    /** Runs over words, in each other's way and given back: nothing is lost, and no page is freed by a refused free. */
    @Param(name = "run", gen = IntGen.class, conf = "0:4")
    public static class Conflicts {
        private static final int PAGES = 80;
        private static final int[][] RUNS = {{0, 40}, {30, 5}, {34, 46}, {64, 6}, {10, 60}};
        private final BitmapPageAllocator allocator = Pages.onHeap(PAGES);

        @Operation
        public void markAndFree(@Param(name = "run") final int run) {
            if (allocator.markAllocated(RUNS[run][0], RUNS[run][1]) && !allocator.free(RUNS[run][0], RUNS[run][1])) {
                throw new IllegalStateException("own run not freed");
            }
        }

        @Operation
        public void allocateAndFree(@Param(name = "run") final int run) {
            final long first = allocator.allocate(RUNS[run][1]);
            if (first >= 0 && !allocator.free(first, RUNS[run][1])) {
                throw new IllegalStateException("own run not freed");
            }
        }

        @Validate
        public void nothingIsLost() {
            if (allocator.allocatedCount() != 0 || allocator.allocate(PAGES) != 0 || !allocator.free(0, PAGES)) {
                throw new IllegalStateException("allocated " + allocator.allocatedCount());
            }
        }
    }

    /** What is counted while others allocate and free: too much or too little, but never less than nothing. */
    public static class Counts {
        private final BitmapPageAllocator allocator = Pages.onHeap(3);

        @Operation
        public void allocateAndFree() {
            final long first = allocator.allocate(1);
            if (first >= 0 && !allocator.free(first, 1)) {
                throw new IllegalStateException("own page not freed");
            }
        }

        @Operation
        public void count() {
            if (allocator.allocatedCount() < 0) {
                throw new IllegalStateException("allocated " + allocator.allocatedCount());
            }
        }
    }

    private static void explore(final Class<?> scenario) {
        new ModelCheckingOptions().iterations(4).invocationsPerIteration(200).threads(2).actorsPerThread(3)
            .actorsBefore(2).actorsAfter(1).check(scenario);
    }

    @Test
    void shouldAnswerAsOneThreadWouldInEveryInterleaving() {
        explore(Places.class);
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
    void shouldAnswerAsOneThreadWouldOnTheProcessor() {
        new StressOptions().iterations(4).invocationsPerIteration(200).threads(2).actorsPerThread(3)
            .actorsBefore(2).actorsAfter(1).check(Places.class);
    }

    @Test
    void shouldNeverGiveAPageToTwoOwners() {
        final int pages = 2_000;
        try (BitmapPageAllocator allocator = BitmapPageAllocator.create(pages)) {
            final AtomicIntegerArray owners = new AtomicIntegerArray(pages);
            Parallel.run(THREADS, thread -> churn(allocator, owners, thread + 1));
            assertEquals(0, allocator.allocatedCount());
            assertEquals(0, allocator.allocate(pages));
        }
    }

    private static void churn(final BitmapPageAllocator allocator, final AtomicIntegerArray owners, final int owner) {
        final SplittableRandom random = new SplittableRandom(owner);
        final int[][] held = new int[100][];
        for (int i = 0; i < 200_000; i++) {
            final int slot = random.nextInt(held.length);
            if (held[slot] == null) {
                final int count = random.nextInt(4) == 0 ? 1 + random.nextInt(150) : 1;
                final int first = (int) allocator.allocate(count);
                if (first >= 0) {
                    held[slot] = new int[] {first, count};
                    stamp(owners, held[slot], 0, owner);
                }
            } else {
                release(allocator, owners, held[slot], owner);
                held[slot] = null;
            }
        }
        for (final int[] run : held) {
            if (run != null) {
                release(allocator, owners, run, owner);
            }
        }
    }

    private static void release(final BitmapPageAllocator allocator, final AtomicIntegerArray owners, final int[] run,
                                final int owner) {
        assertFalse(allocator.markAllocated(run[0], run[1]));
        assertTrue(allocator.isAllocated(run[0] + run[1] - 1));
        stamp(owners, run, owner, 0);
        assertTrue(allocator.free(run[0], run[1]), "own run refused");
    }

    private static void stamp(final AtomicIntegerArray owners, final int[] run, final int expected, final int owner) {
        for (int page = run[0]; page < run[0] + run[1]; page++) {
            assertTrue(owners.compareAndSet(page, expected, owner), "two owners of a page");
        }
    }

    @Test
    void shouldNeverMissAPageThatIsFreeAtAllTimes() {
        // Four threads hold one page each and one call each is under way: eight pages at most, of nine.
        try (BitmapPageAllocator allocator = BitmapPageAllocator.create(9, 1)) {
            Parallel.run(THREADS, thread -> {
                for (int i = 0; i < 200_000; i++) {
                    final long page = allocator.allocate(1);
                    assertTrue(page >= 0, "no space, though a page is always free");
                    assertTrue(allocator.free(page, 1));
                }
            });
            assertEquals(0, allocator.allocatedCount());
        }
    }
}
