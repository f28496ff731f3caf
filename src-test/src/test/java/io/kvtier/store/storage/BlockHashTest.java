package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.ReferenceXxh64;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Test;

class BlockHashTest {
    /** Published values of XXH64 with seed 0. */
    private static final Map<String, Long> PUBLISHED = Map.of(
        "", 0xEF46DB3751D8E999L,
        "a", 0xD24EC4F1A98C6E5BL,
        "abc", 0x44BC2CF5AD770999L,
        "Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1L);

    private static long hash(final byte[] bytes, final int misalignment) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment memory = arena.allocate(bytes.length + 64L, 64).asSlice(misalignment, bytes.length);
            memory.copyFrom(MemorySegment.ofArray(bytes));
            return BlockHash.xxh64(memory);
        }
    }

    @Test
    void shouldGiveThePublishedValues() {
        PUBLISHED.forEach((text, expected) -> {
            final byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
            assertEquals(expected, hash(bytes, 0), () -> "hash of '" + text + "'");
            assertEquals(expected, ReferenceXxh64.of(bytes), () -> "reference hash of '" + text + "'");
        });
    }

    @Test
    void shouldAgreeWithTheSpecificationForAnyLengthAndAddress() {
        for (int length = 0; length <= 200; length++) {
            final byte[] bytes = PatternBytes.of(length, length);
            assertEquals(ReferenceXxh64.of(bytes), hash(bytes, length % 9), "length " + length);
        }
        final byte[] large = PatternBytes.of(1, 3_000_001);
        assertEquals(ReferenceXxh64.of(large), hash(large, 3));
    }

    @Test
    void shouldRefuseMemoryThatIsNotThere() {
        final Arena arena = Arena.ofConfined();
        final MemorySegment gone = arena.allocate(8);
        arena.close();
        assertThrows(IllegalArgumentException.class, () -> BlockHash.xxh64(gone));
        final MemorySegment heap = MemorySegment.ofArray(new byte[8]);
        assertThrows(IllegalArgumentException.class, () -> BlockHash.xxh64(heap));
    }
}
