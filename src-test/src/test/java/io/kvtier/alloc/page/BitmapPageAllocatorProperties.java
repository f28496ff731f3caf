package io.kvtier.alloc.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import java.util.BitSet;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** Any sequence of calls leaves an allocator that agrees with a bit set. */
final class BitmapPageAllocatorProperties {
    /** A call, with numbers that the run turns into pages of the space at hand. */
    record Call(int kind, int where, int length) {
    }

    @Property(tries = 1_000)
    void agreesWithABitSet(@ForAll("sizes") final int pages, @ForAll("lanes") final int lanes,
                           @ForAll("calls") final List<Call> calls) {
        LeakCheck.around(() -> {
            try (BitmapPageAllocator allocator = BitmapPageAllocator.create(pages, lanes)) {
                final BitSet model = new BitSet(pages);
                for (final Call call : calls) {
                    apply(allocator, model, call, pages);
                    assertSame(allocator, model, pages);
                }
                assertRestores(model, pages, lanes);
                for (int first = model.nextSetBit(0); first >= 0; first = model.nextSetBit(first)) {
                    final int end = model.nextClearBit(first);
                    assertTrue(allocator.free(first, end - first));
                    model.clear(first, end);
                }
                assertEquals(0, allocator.allocate(pages));
                assertEquals(BitmapPageAllocator.NO_SPACE, allocator.allocate(1));
            }
        });
    }

    private static void apply(final BitmapPageAllocator allocator, final BitSet model, final Call call,
                              final int pages) {
        final int where = call.where % pages;
        final int length = 1 + call.length % (pages + 1);
        final int end = where + length;
        if (call.kind == 0) {
            final long first = allocator.allocate(length);
            if (first == BitmapPageAllocator.NO_SPACE) {
                assertTrue(longestFree(model, pages) < length, () -> "no space for " + length);
            } else {
                assertTrue(first >= 0 && first + length <= pages);
                assertTrue(model.get((int) first, (int) first + length).isEmpty(), "overlap");
                model.set((int) first, (int) first + length);
            }
        } else if (call.kind == 1) {
            final boolean all = end <= pages && model.nextClearBit(where) >= end;
            assertEquals(all, allocator.free(where, length));
            if (all) {
                model.clear(where, end);
            }
        } else {
            final boolean none = end <= pages && model.get(where, end).isEmpty();
            assertEquals(none, allocator.markAllocated(where, length));
            if (none) {
                model.set(where, end);
            }
        }
    }

    private static int longestFree(final BitSet model, final int pages) {
        int longest = 0;
        int first = model.nextClearBit(0);
        while (first < pages) {
            final int end = model.nextSetBit(first) < 0 ? pages : model.nextSetBit(first);
            longest = Math.max(longest, end - first);
            first = model.nextClearBit(end);
        }
        return longest;
    }

    private static void assertSame(final BitmapPageAllocator allocator, final BitSet model, final int pages) {
        assertEquals(model.cardinality(), allocator.allocatedCount());
        for (int page = 0; page < pages; page++) {
            assertEquals(model.get(page), allocator.isAllocated(page));
        }
    }

    private static void assertRestores(final BitSet model, final int pages, final int lanes) {
        try (BitmapPageAllocator restored = BitmapPageAllocator.create(pages, lanes)) {
            model.stream().forEach(page -> assertTrue(restored.markAllocated(page, 1)));
            assertSame(restored, model, pages);
            final int longest = longestFree(model, pages);
            assertEquals(BitmapPageAllocator.NO_SPACE, restored.allocate(longest + 1));
            assertTrue(longest == 0 || restored.allocate(longest) >= 0);
        }
    }

    @Provide
    static Arbitrary<Integer> sizes() {
        return Arbitraries.of(1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 300, 1000);
    }

    @Provide
    static Arbitrary<Integer> lanes() {
        return Arbitraries.of(1, 4, 16);
    }

    @Provide
    static Arbitrary<List<Call>> calls() {
        final Arbitrary<Integer> lengths = Arbitraries.oneOf(Arbitraries.integers().between(0, 3),
            Arbitraries.integers().between(0, 70), Arbitraries.integers().between(0, 1_000));
        return Combinators.combine(Arbitraries.of(0, 0, 1, 1, 2), Arbitraries.integers().between(0, 1 << 16),
            lengths).as(Call::new).list().ofMaxSize(60);
    }
}
