package io.kvtier.alloc.extent;

import static io.kvtier.alloc.extent.Extents.UNIT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** Any sequence of calls leaves an allocator that agrees with a sorted map. */
final class ExtentAllocatorProperties {
    /** A call, with numbers that the run turns into units of the space at hand. */
    record Call(int kind, int where, int length) {
    }

    /** A space: how large, and how near the borders of its chunks are. */
    record Space(int units, int chunkUnits, int lanes) {
    }

    @Property(tries = 600)
    void agreesWithASortedMap(@ForAll("spaces") final Space space, @ForAll("calls") final List<Call> calls) {
        LeakCheck.around(() -> {
            try (ExtentAllocator allocator = Extents.offHeap(space.units, space.chunkUnits, space.lanes)) {
                final ExtentModel model = new ExtentModel(space.units);
                for (final Call call : calls) {
                    apply(allocator, model, call, space.units);
                    assertEquals(model.allocated() * UNIT, allocator.allocatedBytes());
                    assertTrue(allocator.largestFreeBytes() >= model.longestFree() * UNIT);
                }
                assertSame(allocator, model, space.units);
                assertRestores(model, space);
                assertEmptiesToOneRun(allocator, model, space.units);
            }
        });
    }

    @Property(tries = 150)
    void randomSizesFillAndRefillAgreeWithASortedMap(@ForAll("spaces") final Space space, @ForAll final long seed) {
        LeakCheck.around(() -> {
            try (ExtentAllocator allocator = Extents.offHeap(space.units, space.chunkUnits, space.lanes)) {
                final ExtentModel model = new ExtentModel(space.units);
                final Random random = new Random(seed);
                for (int i = 0; i < 400; i++) {
                    // Mostly allocating, so that the space is full for most of the run.
                    final int kind = random.nextInt(8) < 5 ? 0 : 1 + random.nextInt(3);
                    final int length = 1 + (int) Math.pow(space.units, random.nextDouble() * 0.8);
                    apply(allocator, model, new Call(kind, random.nextInt(1 << 16), length), space.units);
                }
                assertSame(allocator, model, space.units);
                assertEmptiesToOneRun(allocator, model, space.units);
            }
        });
    }

    private static void apply(final ExtentAllocator allocator, final ExtentModel model, final Call call,
                              final int units) {
        final long where = call.where % units;
        final long length = 1 + call.length % (units + 1);
        switch (call.kind) {
            case 0 -> allocate(allocator, model, length);
            case 1 -> freeOne(allocator, model, call.where);
            case 2 -> assertEquals(model.remove(where, length), allocator.free(where * UNIT, length * UNIT));
            default -> {
                final boolean fits = model.isFree(where, length);
                assertEquals(fits, allocator.markAllocated(where * UNIT, length * UNIT - call.where % UNIT));
                if (fits) {
                    model.add(where, length);
                }
            }
        }
    }

    private static void allocate(final ExtentAllocator allocator, final ExtentModel model, final long length) {
        final long offset = allocator.allocate(length * UNIT);
        if (offset == ExtentAllocator.NO_SPACE) {
            assertTrue(model.longestFree() < length, () -> "no space for " + length);
        } else {
            assertEquals(0, offset % UNIT);
            assertTrue(model.isFree(offset / UNIT, length), () -> "overlap at " + offset / UNIT);
            model.add(offset / UNIT, length);
        }
    }

    private static void freeOne(final ExtentAllocator allocator, final ExtentModel model, final int which) {
        final List<long[]> extents = model.extents();
        if (!extents.isEmpty()) {
            final long[] extent = extents.get(which % extents.size());
            final long offset = extent[0] * UNIT;
            final long size = extent[1] * UNIT;
            assertFalse(allocator.free(offset, size + UNIT), "one unit too many");
            assertFalse(size > UNIT && allocator.free(offset, size - UNIT), "one unit too few");
            assertFalse(size > UNIT && allocator.free(offset + UNIT, size - UNIT), "begins one unit late");
            assertTrue(allocator.free(offset, size));
            assertFalse(allocator.free(offset, size), "freed twice");
            model.remove(extent[0], extent[1]);
        }
    }

    private static void assertSame(final ExtentAllocator allocator, final ExtentModel model, final int units) {
        for (long unit = 0; unit < units; unit++) {
            assertEquals(model.length(unit) * UNIT, allocator.extentSize(unit * UNIT));
        }
    }

    private static void assertRestores(final ExtentModel model, final Space space) {
        try (ExtentAllocator restored = Extents.offHeap(space.units, space.chunkUnits, space.lanes)) {
            for (final long[] extent : model.extents()) {
                assertTrue(restored.markAllocated(extent[0] * UNIT, extent[1] * UNIT));
            }
            assertSame(restored, model, space.units);
            final long longest = model.longestFree();
            assertEquals(ExtentAllocator.NO_SPACE, restored.allocate((longest + 1) * UNIT));
            assertTrue(longest == 0 || restored.allocate(longest * UNIT) >= 0);
        }
    }

    private static void assertEmptiesToOneRun(final ExtentAllocator allocator, final ExtentModel model,
                                              final int units) {
        for (final long[] extent : model.extents()) {
            assertTrue(allocator.free(extent[0] * UNIT, extent[1] * UNIT));
        }
        assertEquals(0, allocator.allocatedBytes());
        assertEquals(0, allocator.allocate(units * UNIT));
        assertEquals(ExtentAllocator.NO_SPACE, allocator.allocate(1));
        assertTrue(allocator.free(0, units * UNIT));
    }

    @Provide
    static Arbitrary<Space> spaces() {
        final Arbitrary<Integer> units = Arbitraries.of(1, 2, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129, 500,
            1023, 1024, 1025, 2500, 4095, 4096, 4097, 9000);
        return Combinators.combine(units, Arbitraries.of(32, 64, 4096), Arbitraries.of(1, 1, 4)).as(Space::new);
    }

    @Provide
    static Arbitrary<List<Call>> calls() {
        final Arbitrary<Integer> lengths = Arbitraries.oneOf(Arbitraries.integers().between(0, 5),
            Arbitraries.integers().between(0, 70), Arbitraries.integers().between(0, 10_000));
        return Combinators.combine(Arbitraries.of(0, 0, 0, 1, 1, 2, 3), Arbitraries.integers().between(0, 1 << 16),
            lengths).as(Call::new).list().ofMaxSize(120);
    }
}
