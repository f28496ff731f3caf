package io.kvtier.alloc.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(LeakCheck.class)
final class BitmapPageAllocatorTest {
    @Test
    void shouldAllocateInSequence() {
        try (BitmapPageAllocator allocator = BitmapPageAllocator.create(1_000, 1)) {
            for (int page = 0; page < 1_000; page++) {
                assertEquals(page, allocator.allocate(1));
            }
            assertEquals(BitmapPageAllocator.NO_SPACE, allocator.allocate(1));
            assertEquals(1_000, allocator.allocatedCount());
        }
    }

    @Test
    void shouldUseWhatWasFreedLastFirst() {
        try (BitmapPageAllocator allocator = BitmapPageAllocator.create(1_000)) {
            final long first = allocator.allocate(100);
            assertTrue(allocator.free(first + 3, 1));
            assertFalse(allocator.isAllocated(first + 3));
            assertEquals(first + 3, allocator.allocate(1));
            assertTrue(allocator.isAllocated(first + 3));
        }
    }

    @Test
    void shouldAllocateRunsLongerThanAWord() {
        try (BitmapPageAllocator allocator = BitmapPageAllocator.create(1_000, 1)) {
            assertTrue(allocator.markAllocated(500, 1));
            assertEquals(BitmapPageAllocator.NO_SPACE, allocator.allocate(501));
            assertEquals(0, allocator.allocate(500));
            assertEquals(501, allocator.allocate(499));
            assertEquals(1_000, allocator.allocatedCount());
            assertTrue(allocator.free(0, 1_000));
            assertEquals(0, allocator.allocatedCount());
        }
    }

    @Test
    void shouldRefuseFreesOfWhatIsNotAllocated() {
        try (BitmapPageAllocator allocator = BitmapPageAllocator.create(1_000, 1)) {
            assertEquals(0, allocator.allocate(100));
            assertFalse(allocator.free(0, 101));
            assertFalse(allocator.free(99, 2));
            assertFalse(allocator.free(-1, 1));
            assertFalse(allocator.free(999, 2));
            assertFalse(allocator.free(Long.MAX_VALUE, 1));
            assertFalse(allocator.free(1, Long.MAX_VALUE));
            assertEquals(100, allocator.allocatedCount());
            assertTrue(allocator.free(0, 100));
            assertFalse(allocator.free(0, 100));
        }
    }

    @Test
    void shouldSayWhatIsWrongWithAnArgument() {
        final var none = assertThrows(IllegalArgumentException.class, () -> BitmapPageAllocator.create(0));
        assertTrue(none.getMessage().contains("pages is 0"));
        assertThrows(IllegalArgumentException.class, () -> BitmapPageAllocator.create((1L << 32) + 1));
        assertThrows(IllegalArgumentException.class, () -> BitmapPageAllocator.create(10, 3));
        try (BitmapPageAllocator allocator = BitmapPageAllocator.create(10)) {
            assertThrows(IllegalArgumentException.class, () -> allocator.allocate(0));
            assertThrows(IllegalArgumentException.class, () -> allocator.free(0, -1));
            assertThrows(IllegalArgumentException.class, () -> allocator.markAllocated(0, 0));
            assertThrows(IndexOutOfBoundsException.class, () -> allocator.isAllocated(10));
            assertEquals(BitmapPageAllocator.NO_SPACE, allocator.allocate(Long.MAX_VALUE));
        }
    }

    @Test
    void shouldThrowAfterClose() {
        final BitmapPageAllocator allocator = BitmapPageAllocator.create(10);
        allocator.close();
        allocator.close();
        assertThrows(IllegalStateException.class, () -> allocator.allocate(1));
        assertThrows(IllegalStateException.class, () -> allocator.free(0, 1));
        assertThrows(IllegalStateException.class, () -> allocator.markAllocated(0, 1));
        assertThrows(IllegalStateException.class, () -> allocator.isAllocated(0));
        assertThrows(IllegalStateException.class, allocator::allocatedCount);
    }
}
