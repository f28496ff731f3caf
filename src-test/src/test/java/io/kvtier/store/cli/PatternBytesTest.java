package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;
import java.util.zip.Deflater;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class PatternBytesTest {
    private static byte[] contents(final int size, final long seed) {
        final byte[] bytes = new byte[size];
        PatternBytes.fill(MemorySegment.ofArray(bytes), seed);
        return bytes;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 7, 8, 9, 4095, 4096, 4097, 8191, 65_536, 70_001})
    void shouldFindASingleByteThatDiffersWhereverItIs(final int size) {
        final long seed = PatternBytes.seed(17, size);
        final byte[] bytes = contents(size, seed);
        final MemorySegment segment = MemorySegment.ofArray(bytes);
        assertEquals(PatternBytes.SAME, PatternBytes.firstDifference(segment, seed));
        for (int i = 0; i < size; i += 1 + size / 3000) {
            assertEquals(bytes[i], PatternBytes.byteAt(seed, i));
            bytes[i] ^= 0x10;
            assertEquals(i, PatternBytes.firstDifference(segment, seed));
            bytes[i] ^= 0x10;
        }
    }

    @Test
    void shouldReportTheFirstOfSeveralDifferences() {
        final long seed = PatternBytes.seed(1, 20_000);
        final byte[] bytes = contents(20_000, seed);
        bytes[19_999]++;
        bytes[9_000]++;
        bytes[8_500]++;
        assertEquals(8_500, PatternBytes.firstDifference(MemorySegment.ofArray(bytes), seed));
    }

    @Test
    void shouldGiveTheSameBytesInNativeMemoryAtAnyAlignment() {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment native7 = arena.allocate(5_000, 8).asSlice(7, 4_099);
            PatternBytes.fill(native7, 3);
            assertEquals(-1, native7.mismatch(MemorySegment.ofArray(contents(4_099, 3))));
        }
    }

    @Test
    void shouldGiveOtherBytesForAnotherIdOrAnotherSize() {
        final SplittableRandom random = new SplittableRandom(5);
        for (int i = 0; i < 200; i++) {
            final long id = random.nextLong(1L << 20);
            final byte[] one = contents(4096, PatternBytes.seed(id, 4096));
            assertTrue(equalBytes(one, contents(4096, PatternBytes.seed(id + 1, 4096))) < 100, "id " + id);
            assertTrue(equalBytes(one, contents(4096, PatternBytes.seed(id, 4097))) < 100, "id " + id);
        }
    }

    private static int equalBytes(final byte[] one, final byte[] other) {
        int equal = 0;
        for (int i = 0; i < one.length; i++) {
            equal += one[i] == other[i] ? 1 : 0;
        }
        return equal;
    }

    @Test
    void shouldNotCompress() {
        final byte[] bytes = contents(1 << 20, PatternBytes.seed(0, 1 << 20));
        final Deflater deflater = new Deflater(Deflater.BEST_COMPRESSION);
        deflater.setInput(bytes);
        deflater.finish();
        final byte[] compressed = new byte[bytes.length * 2];
        assertTrue(deflater.deflate(compressed) >= bytes.length);
        deflater.end();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 8, 4096, 4097, 12_289})
    void shouldSpoilTheFirstAndTheLastByte(final int size) {
        final byte[] bytes = contents(size, 9);
        final MemorySegment segment = MemorySegment.ofArray(bytes);
        PatternBytes.spoil(segment, 9);
        assertEquals(0, PatternBytes.firstDifference(segment, 9));
        assertNotEquals(PatternBytes.byteAt(9, size - 1), segment.get(ValueLayout.JAVA_BYTE, size - 1));
    }
}
