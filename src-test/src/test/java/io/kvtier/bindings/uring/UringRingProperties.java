package io.kvtier.bindings.uring;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;

/** Operations of all sizes at all offsets, in batches of any length, against an array. */
class UringRingProperties {
    private static final int SPACE = 200_000;

    /**
     * What is done: kinds 0 and 1 are a read and a write, 2 and 3 the same with registered memory, 4 and 5 with a
     * part of a segment, 6 and 7 with several.
     */
    record Step(int kind, int offset, int length) {
        boolean writes() {
            return kind % 2 == 1;
        }

        boolean overlaps(final Step other) {
            return offset < other.offset + other.length && other.offset < offset + length;
        }
    }

    @Provide
    Arbitrary<List<List<Step>>> batches() {
        final Arbitrary<Integer> lengths = Arbitraries.oneOf(Arbitraries.integers().between(0, 10),
            Arbitraries.integers().between(4090, 4100), Arbitraries.integers().between(0, 70_000));
        final Arbitrary<Integer> offsets = Arbitraries.oneOf(Arbitraries.integers().between(0, SPACE),
            Arbitraries.integers().between(0, SPACE / 4096).map(block -> block * 4096));
        final Arbitrary<Step> steps = Combinators.combine(Arbitraries.integers().between(0, 7), offsets, lengths)
            .as(Step::new);
        return steps.list().ofMaxSize(12).list().ofMaxSize(6);
    }

    @Property(tries = 150, edgeCases = EdgeCasesMode.NONE)
    void readsAndWritesGiveWhatAnArrayGives(@ForAll("batches") final List<List<Step>> batches,
                                            @ForAll @IntRange(min = 1, max = 9) final int depth) {
        NotExercised.require("uring", Uring.availability().available(), Uring.availability().reason());
        LeakCheck.around(() -> {
            try (Arena arena = Arena.ofConfined(); PosixFile file = PosixFile.inMemory("uring-model");
                UringRing ring = UringRing.open(UringOptions.ofDepth(depth).withSlots(1, 1));
                UringFile attached = ring.attach(file);
                RegisteredBuffer registered = ring.register(arena.allocate(16 * 70_000, 4096))) {
                final Model model = new Model(ring, attached, registered);
                batches.forEach(model::run);
                assertEquals(0, ring.rebuilds());
                assertEquals(0, ring.strayCompletions());
            }
        });
    }

    /** The file as it must be, and the operations that are open. */
    private static final class Model {
        private static final int PLACE = 70_000;

        private final UringRing ring;
        private final UringFile file;
        private final RegisteredBuffer memory;
        private final byte[] content = new byte[SPACE + PLACE];
        private final Map<Long, Step> open = new HashMap<>();
        private final SegmentVector vector = new SegmentVector(40);
        private int size;
        private long next;

        Model(final UringRing ring, final UringFile file, final RegisteredBuffer memory) {
            this.ring = ring;
            this.file = file;
            this.memory = memory;
        }

        void run(final List<Step> batch) {
            for (final Step step : batch) {
                // Operations in flight together have no order, so only disjoint ones are; and a write that changes
                // the size is alone.
                if (open.size() == ring.depth() || open.values().stream().anyMatch(other ->
                    other.overlaps(step) && (other.writes() || step.writes()))
                    || step.offset + step.length > size) {
                    settle();
                }
                start(step);
                if (step.offset + step.length > size) {
                    settle();
                }
            }
            settle();
        }

        private MemorySegment place(final long id, final Step step) {
            return memory.memory().asSlice(id % 16 * PLACE, step.length);
        }

        private void start(final Step step) {
            final long id = next++;
            final MemorySegment place = place(id, step);
            if (step.writes()) {
                PatternBytes.fill(place, id);
            } else {
                place.fill((byte) 0x55);
            }
            assertTrue(switch (step.kind) {
                case 0 -> ring.read(file, place, step.offset, id);
                case 1 -> ring.write(file, place, step.offset, id);
                case 2 -> ring.readFixed(file, memory, id % 16 * PLACE, step.length, step.offset, id);
                case 3 -> ring.writeFixed(file, memory, id % 16 * PLACE, step.length, step.offset, id);
                case 4 -> ring.read(file, memory.memory(), id % 16 * PLACE, step.length, step.offset, id);
                case 5 -> ring.write(file, memory.memory(), id % 16 * PLACE, step.length, step.offset, id);
                case 6 -> ring.readVector(file, pieces(id, step), step.offset, id);
                default -> ring.writeVector(file, pieces(id, step), step.offset, id);
            });
            open.put(id, step);
        }

        /** The place of a step in 1 to 40 pieces, empty ones among them. */
        private SegmentVector pieces(final long id, final Step step) {
            final int count = 1 + step.offset % 40;
            vector.clear();
            long at = 0;
            for (int i = 0; i < count; i++) {
                final long end = i == count - 1 ? step.length : step.length * (i + 1L) * i / (count * (count - 1L));
                vector.add(memory.memory(), id % 16 * PLACE + at, end - at);
                at = end;
            }
            return vector;
        }

        private void settle() {
            final Map<Long, Integer> ends = Ends.of(ring);
            assertEquals(open.keySet(), ends.keySet());
            open.forEach((id, step) -> {
                if (step.writes()) {
                    assertEquals(step.length, ends.get(id));
                    System.arraycopy(PatternBytes.of(id, step.length), 0, content, step.offset, step.length);
                    size = step.length == 0 ? size : Math.max(size, step.offset + step.length);
                }
            });
            open.forEach((id, step) -> {
                if (!step.writes()) {
                    final int wanted = Math.max(0, Math.min(step.length, size - step.offset));
                    assertEquals(wanted, ends.get(id));
                    assertArrayEquals(Arrays.copyOfRange(content, step.offset, step.offset + wanted),
                        PatternBytes.copyOf(place(id, step).asSlice(0, wanted)));
                }
            });
            open.clear();
        }
    }
}
