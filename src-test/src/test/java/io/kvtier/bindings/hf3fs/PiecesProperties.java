package io.kvtier.bindings.hf3fs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.kit.PatternBytes;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

/** Pieces against the one array that they are. */
class PiecesProperties {
    @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
    void partsOfPiecesArePartsOfTheWhole(
        @ForAll @Size(min = 1, max = 6) final List<@IntRange(max = 9) Integer> sizes, @ForAll final int some,
        @ForAll final int more) {
        final int total = sizes.stream().mapToInt(Integer::intValue).sum();
        final byte[] whole = PatternBytes.of(total, total);
        final List<MemorySegment> pieces = new ArrayList<>();
        int at = 0;
        for (final int size : sizes) {
            pieces.add(MemorySegment.ofArray(Arrays.copyOfRange(whole, at, at + size)));
            at += size;
        }
        final Pieces cut = new Pieces(pieces);
        assertEquals(total, cut.byteSize());
        final int from = Math.floorMod(some, total + 1);
        final int length = Math.floorMod(more, total - from + 1);

        final byte[] copied = new byte[length + 3];
        cut.copyTo(from, MemorySegment.ofArray(copied), 2, length);
        final byte[] expected = new byte[length + 3];
        System.arraycopy(whole, from, expected, 2, length);
        assertArrayEquals(expected, copied);

        final byte[] others = PatternBytes.of(1000, length);
        cut.copyFrom(from, MemorySegment.ofArray(others), 0, length);
        System.arraycopy(others, 0, whole, from, length);
        final byte[] joined = new byte[total];
        cut.copyTo(0, MemorySegment.ofArray(joined), 0, total);
        assertArrayEquals(whole, joined);
    }
}
