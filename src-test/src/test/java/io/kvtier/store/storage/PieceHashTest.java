package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.ReferenceXxh64;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The checksum of pieces is that of the whole, however it is cut. */
class PieceHashTest {
    @Test
    void shouldAgreeWithTheReferenceHoweverMemoryIsCut() {
        final SplittableRandom random = new SplittableRandom(1);
        for (int length = 0; length < 300; length++) {
            final byte[] bytes = PatternBytes.of(length, length);
            final long expected = ReferenceXxh64.of(bytes);
            assertEquals(expected, PieceHash.xxh64(List.of(MemorySegment.ofArray(bytes)), length), "length " + length);
            for (int round = 0; round < 5; round++) {
                final List<MemorySegment> pieces = new ArrayList<>();
                int at = 0;
                while (at < length) {
                    final int count = Math.min(length - at, random.nextInt(70));
                    pieces.add(MemorySegment.ofArray(bytes).asSlice(at, count));
                    at += count;
                }
                pieces.add(MemorySegment.ofArray(new byte[50]));
                assertEquals(expected, PieceHash.xxh64(pieces, length), "length " + length + " in " + pieces.size());
            }
        }
    }

    /** Pieces of hundreds of bytes, of which lines ahead are asked for: never beyond a piece. */
    @Test
    void shouldAgreeWithTheReferenceForLongPieces() {
        final SplittableRandom random = new SplittableRandom(2);
        for (int length = 500; length < 1500; length++) {
            final byte[] bytes = PatternBytes.of(length, length);
            final long expected = ReferenceXxh64.of(bytes);
            assertEquals(expected, PieceHash.xxh64(List.of(MemorySegment.ofArray(bytes)), length), "length " + length);
            final int cut = random.nextInt(length);
            assertEquals(expected, PieceHash.xxh64(List.of(MemorySegment.ofArray(bytes).asSlice(0, cut),
                MemorySegment.ofArray(bytes).asSlice(cut)), length), "length " + length + " cut at " + cut);
        }
    }

    @Test
    void shouldKnowTheNumbersOfTheSpecification() {
        // https://github.com/Cyan4973/xxHash: of nothing, and of "abc", with seed 0.
        assertEquals(0xEF46DB3751D8E999L, PieceHash.xxh64(List.of(), 0));
        assertEquals(0x44BC2CF5AD770999L,
            PieceHash.xxh64(List.of(MemorySegment.ofArray("abc".getBytes(StandardCharsets.US_ASCII))), 3));
    }

    @Test
    void shouldRefuseMemoryThatIsGone() {
        final MemorySegment dead;
        try (Arena arena = Arena.ofConfined()) {
            dead = arena.allocate(100);
        }
        assertThrows(IllegalStateException.class, () -> PieceHash.xxh64(List.of(dead), 100));
    }
}
