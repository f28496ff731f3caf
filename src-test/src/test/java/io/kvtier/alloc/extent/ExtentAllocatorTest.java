package io.kvtier.alloc.extent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.bits.InterruptedWords;
import io.kvtier.kit.LeakCheck;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@ExtendWith(LeakCheck.class)
final class ExtentAllocatorTest {
    private static final long TIB = 1L << 40;

    @Test
    void shouldRoundSizesUpToUnits() {
        try (ExtentAllocator allocator = ExtentAllocator.create(10 * 4096 + 17)) {
            assertEquals(10 * 4096, allocator.capacityBytes());
            assertEquals(4096, allocator.unitBytes());
            final long offset = allocator.allocate(4097);
            assertEquals(0, offset % 4096);
            assertEquals(8192, allocator.allocatedBytes());
            assertEquals(8192, allocator.extentSize(offset));
            assertEquals(0, allocator.extentSize(offset + 4096));
            assertTrue(allocator.free(offset, 8000));
            assertEquals(0, allocator.allocatedBytes());
        }
    }

    /** A search that finds too little lowers bounds; another thread may free at each of its steps, here one by one. */
    @ParameterizedTest
    @ValueSource(ints = {1, 5, 20})
    void shouldHideNothingThatIsFreedAtAnyStepOfASearch(final int chunks) {
        boolean within = true;
        for (int step = 1; within; step++) {
            within = freeAt(step, chunks);
            assertTrue(within || step > 10, "a search takes more than " + step + " steps");
        }
    }

    private static boolean freeAt(final int step, final int chunks) {
        final long chunk = 32 * Extents.UNIT;
        final long last = (chunks - 1) * chunk;
        final ExtentAllocator.Shape shape = new ExtentAllocator.Shape(32L * chunks, Extents.UNIT, 32, 1);
        final InterruptedWords words = new InterruptedWords(shape.words());
        try (ExtentAllocator allocator = new ExtentAllocator(words, null, shape)) {
            for (long full = 0; full < last; full += chunk) {
                assertTrue(allocator.markAllocated(full, chunk));
            }
            // What is found behind a taken unit leaves no cursor: the searches that follow ask the bounds.
            assertTrue(allocator.markAllocated(last, Extents.UNIT));
            assertTrue(allocator.free(allocator.allocate(Extents.UNIT), Extents.UNIT));
            assertTrue(allocator.free(last, Extents.UNIT));
            final long hole = last + 10 * Extents.UNIT;
            assertTrue(allocator.markAllocated(hole, Extents.UNIT));

            words.before(step, () -> assertTrue(allocator.free(hole, Extents.UNIT)));
            final long found = allocator.allocate(chunk);
            final boolean within = words.hasInterrupted();
            words.leaveAlone();
            assertTrue(found < 0 ? within || allocator.free(hole, Extents.UNIT) : allocator.free(found, chunk));

            assertEquals(last, allocator.allocate(chunk), "freed at step " + step);
            return within;
        }
    }

    @Test
    void shouldSayWhatIsWrongWithAnArgument() {
        final var small = assertThrows(IllegalArgumentException.class, () -> ExtentAllocator.create(4095));
        assertTrue(small.getMessage().contains("4095"));
        final var large = assertThrows(IllegalArgumentException.class, () -> ExtentAllocator.create(16 * TIB + 1));
        assertTrue(large.getMessage().contains("17592186044417"));
        assertThrows(IllegalArgumentException.class, () -> ExtentAllocator.create(TIB, 64, 1));
        assertThrows(IllegalArgumentException.class, () -> ExtentAllocator.create(TIB, 32, 1));
        assertThrows(IllegalArgumentException.class, () -> ExtentAllocator.create(TIB, 5000, 1));
        assertThrows(IllegalArgumentException.class, () -> ExtentAllocator.create(TIB, 4096, 3));
        try (ExtentAllocator allocator = ExtentAllocator.create(1 << 20)) {
            assertThrows(IllegalArgumentException.class, () -> allocator.allocate(0));
            assertThrows(IllegalArgumentException.class, () -> allocator.allocate(-5));
            assertThrows(IllegalArgumentException.class, () -> allocator.free(0, 0));
            assertEquals(ExtentAllocator.NO_SPACE, allocator.allocate((1 << 20) + 1));
            assertEquals(ExtentAllocator.NO_SPACE, allocator.allocate(Long.MAX_VALUE));
        }
    }

    @Test
    void shouldRefuseFreesOutsideTheSpaceOrUnaligned() {
        try (ExtentAllocator allocator = ExtentAllocator.create(1 << 20)) {
            final long offset = allocator.allocate(1 << 20);
            assertEquals(0, offset);
            assertFalse(allocator.free(-4096, 4096));
            assertFalse(allocator.free(1 << 20, 4096));
            assertFalse(allocator.free(0, Long.MAX_VALUE));
            assertFalse(allocator.free(Long.MAX_VALUE, 1));
            assertFalse(allocator.free(1, (1 << 20) - 1));
            assertFalse(allocator.markAllocated(1 << 20, 1));
            assertTrue(allocator.free(0, 1 << 20));
        }
    }

    @Test
    void shouldThrowAfterClose() {
        final ExtentAllocator allocator = ExtentAllocator.create(1 << 20);
        allocator.close();
        allocator.close();
        assertThrows(IllegalStateException.class, () -> allocator.allocate(1));
        assertThrows(IllegalStateException.class, () -> allocator.free(0, 1));
        assertThrows(IllegalStateException.class, () -> allocator.markAllocated(0, 1));
        assertThrows(IllegalStateException.class, () -> allocator.extentSize(0));
        assertThrows(IllegalStateException.class, allocator::allocatedBytes);
        assertThrows(IllegalStateException.class, allocator::largestFreeBytes);
    }

    @Test
    void shouldHandOutAndTakeBackTheLargestSpace() {
        try (ExtentAllocator allocator = ExtentAllocator.create(16 * TIB, 4096, 1)) {
            assertEquals(16 * TIB, allocator.capacityBytes());
            final long high = 16 * TIB - 4096;
            assertTrue(allocator.markAllocated(high, 4096));
            assertEquals(0, allocator.allocate(TIB / 1024));
            assertEquals(4096, allocator.extentSize(high));
            assertTrue(allocator.free(high, 4096));
            assertFalse(allocator.free(high, 4096));
        }
    }

    @Test
    void shouldFindRunsLongerThanAChunk() {
        final long chunk = 4096L * ChunkTree.CHUNK_UNITS;
        try (ExtentAllocator allocator = ExtentAllocator.create(10 * chunk, 4096, 1)) {
            assertTrue(allocator.markAllocated(chunk / 2, 4096));
            assertTrue(allocator.markAllocated(4 * chunk, 4096));
            assertEquals(ExtentAllocator.NO_SPACE, allocator.allocate(6 * chunk));
            final long fits = 6 * chunk - 4096;
            assertEquals(4 * chunk + 4096, allocator.allocate(fits));
            final long middle = allocator.allocate(3 * chunk);
            assertEquals(chunk / 2 + 4096, middle);
            assertTrue(allocator.free(4 * chunk + 4096, fits));
            assertTrue(allocator.free(middle, 3 * chunk));
        }
    }

    @Test
    void shouldPlaceByTheCallsAloneWhenThereIsOneLane() throws InterruptedException {
        final List<Long> here = placements();
        final List<Long> there = new ArrayList<>();
        final Thread thread = Thread.ofPlatform().start(() -> there.addAll(placements()));
        thread.join();
        assertEquals(here, there);
    }

    private static List<Long> placements() {
        final Random random = new Random(7);
        final List<Long> offsets = new ArrayList<>();
        final List<long[]> live = new ArrayList<>();
        try (ExtentAllocator allocator = ExtentAllocator.create(1L << 28, 4096, 1)) {
            for (int i = 0; i < 5_000; i++) {
                final long size = 1 + random.nextInt(1 << 20);
                final long offset = allocator.allocate(size);
                offsets.add(offset);
                if (offset >= 0) {
                    live.add(new long[] {offset, size});
                } else {
                    final long[] extent = live.remove(random.nextInt(live.size()));
                    assertTrue(allocator.free(extent[0], extent[1]));
                }
            }
        }
        return offsets;
    }

    @Test
    void shouldStateWhatTheTablesTake() {
        final long perTib = ExtentAllocator.metadataBytes(TIB, 4096);
        assertTrue(perTib > 64L << 20 && perTib < 65L << 20, () -> "bytes per TiB: " + perTib);
    }
}
