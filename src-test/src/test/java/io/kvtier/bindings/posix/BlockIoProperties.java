package io.kvtier.bindings.posix;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.kit.ArrayFile;
import io.kvtier.kit.Faults;
import io.kvtier.kit.FaultyFile;
import io.kvtier.kit.PatternBytes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

/** Whatever the calls below leave undone, the whole arrives; the model is a byte array. */
class BlockIoProperties {
    private static final int BLOCK = 512;

    @Provide
    Arbitrary<Long> seeds() {
        return Arbitraries.longs().withoutEdgeCases();
    }

    @Property
    void readsAreWholeUpToTheEndOfTheFile(@ForAll("seeds") final long seed,
        @ForAll @IntRange(max = 3000) final int size, @ForAll @IntRange(max = 4000) final int offset,
        @ForAll @IntRange(max = 4000) final int length) {
        final byte[] content = PatternBytes.of(seed, size);
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment target = arena.allocate(Math.max(1, length)).asSlice(0, length);
            final FaultyFile file = new FaultyFile(new ArrayFile(1, content), new Faults().randomShort(seed));

            final int expected = Math.max(0, Math.min(length, size - offset));
            assertEquals(expected, BlockIo.readFully(file, target, offset));
            assertArrayEquals(expected == 0 ? new byte[0] : Arrays.copyOfRange(content, offset, offset + expected),
                PatternBytes.copyOf(target.asSlice(0, expected)));
        }
    }

    @Property
    void writesAreWholeAndTouchNothingElse(@ForAll("seeds") final long seed,
        @ForAll @IntRange(max = 3000) final int size, @ForAll @IntRange(max = 4000) final int offset,
        @ForAll @IntRange(max = 4000) final int length) {
        final byte[] content = PatternBytes.of(seed, size);
        final byte[] data = PatternBytes.of(seed + 1, length);
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment source = arena.allocate(Math.max(1, length)).asSlice(0, length);
            source.copyFrom(MemorySegment.ofArray(data));
            final ArrayFile real = new ArrayFile(1, content);

            BlockIo.writeFully(new FaultyFile(real, new Faults().randomShort(seed)), source, offset);

            assertArrayEquals(overwritten(content, offset, data), real.content());
        }
    }

    @Property
    void directReadsStayAlignedWhateverEachCallMoves(@ForAll("seeds") final long seed,
        @ForAll @IntRange(max = 8 * BLOCK) final int size, @ForAll @IntRange(max = 8) final int firstBlock,
        @ForAll @IntRange(max = 8) final int blocks) {
        final byte[] content = PatternBytes.of(seed, size);
        final int offset = firstBlock * BLOCK;
        final int length = blocks * BLOCK;
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment target = arena.allocate(Math.max(1, length), BLOCK).asSlice(0, length);
            final FaultyFile file = new FaultyFile(new ArrayFile(BLOCK, content), new Faults().randomShort(seed));

            final int expected = Math.max(0, Math.min(length, size - offset));
            assertEquals(expected, BlockIo.readFully(file, target, offset));
            assertArrayEquals(expected == 0 ? new byte[0] : Arrays.copyOfRange(content, offset, offset + expected),
                PatternBytes.copyOf(target.asSlice(0, expected)));
        }
    }

    @Property
    void directWritesStayAlignedWhateverEachCallMoves(@ForAll("seeds") final long seed,
        @ForAll @IntRange(max = 8) final int firstBlock, @ForAll @IntRange(max = 8) final int blocks,
        @ForAll @Size(max = 20) final List<@IntRange(min = BLOCK, max = 4 * BLOCK) Integer> takes) {
        final byte[] content = PatternBytes.of(seed, 8 * BLOCK);
        final byte[] data = PatternBytes.of(seed + 1, blocks * BLOCK);
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment source = arena.allocate(Math.max(1, data.length), BLOCK).asSlice(0, data.length);
            source.copyFrom(MemorySegment.ofArray(data));
            final ArrayFile real = new ArrayFile(BLOCK, content);

            BlockIo.writeFully(new PartlyWritten(real, takes), source, (long) firstBlock * BLOCK);

            assertArrayEquals(overwritten(content, firstBlock * BLOCK, data), real.content());
        }
    }

    private static byte[] overwritten(final byte[] content, final int offset, final byte[] data) {
        final int end = data.length == 0 ? 0 : offset + data.length;
        final byte[] expected = Arrays.copyOf(content, Math.max(content.length, end));
        System.arraycopy(data, 0, expected, data.length == 0 ? 0 : offset, data.length);
        return expected;
    }

    /** A direct file whose writes end inside a block, as a full disk or a failing device makes them. */
    private static final class PartlyWritten implements BlockFile {
        private final ArrayFile real;
        private final List<Integer> takes;
        private int calls;

        PartlyWritten(final ArrayFile real, final List<Integer> takes) {
            this.real = real;
            this.takes = takes;
        }

        @Override
        public String path() {
            return real.path();
        }

        @Override
        public int alignment() {
            return real.alignment();
        }

        @Override
        public long read(final MemorySegment target, final long offset) {
            return real.read(target, offset);
        }

        @Override
        public long write(final MemorySegment source, final long offset) {
            final long count = real.write(source, offset);
            return calls < takes.size() ? Math.min(count, takes.get(calls++)) : count;
        }

        @Override
        public void sync() {
            real.sync();
        }

        @Override
        public void preallocate(final long offset, final long length) {
            real.preallocate(offset, length);
        }

        @Override
        public long size() {
            return real.size();
        }

        @Override
        public String identity() {
            return real.identity();
        }

        @Override
        public void close() {
            real.close();
        }
    }
}
