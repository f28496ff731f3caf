package io.kvtier.store.cli.bench;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

final class StampsTest {
    private static final int SIZE = 3 * 4096;

    private static MemorySegment stamped(final long number) {
        final MemorySegment value = MemorySegment.ofArray(new byte[SIZE]);
        Stamps.write(value, number);
        return value;
    }

    private static void assertFoundOut(final MemorySegment value, final long number) {
        final String message = assertThrows(IOException.class, () -> Stamps.check(value, number)).getMessage();
        assertTrue(message.startsWith("value " + number + " is wrong at byte "), message);
    }

    @Test
    void shouldKnowItsOwnValue() {
        assertDoesNotThrow(() -> Stamps.check(stamped(0), 0));
        assertDoesNotThrow(() -> Stamps.check(stamped(7), 7));
    }

    @Test
    void shouldFindOutZerosAndOtherValues() {
        assertFoundOut(MemorySegment.ofArray(new byte[SIZE]), 0);
        assertFoundOut(stamped(1), 2);
    }

    @Test
    void shouldFindOutAPageOfAnotherPlaceOrValue() {
        final MemorySegment value = stamped(1);
        value.asSlice(4096, 4096).copyFrom(stamped(1).asSlice(0, 4096));
        assertFoundOut(value, 1);
        final MemorySegment mixed = stamped(1);
        mixed.asSlice(8192, 4096).copyFrom(stamped(2).asSlice(8192, 4096));
        assertFoundOut(mixed, 1);
    }

    @Test
    void shouldFindOutAReadThatWritesNothingOrIsCutShort() {
        final MemorySegment value = stamped(1);
        Stamps.spoil(value);
        assertFoundOut(value, 1);
        value.asSlice(0, SIZE - 8).copyFrom(stamped(1).asSlice(0, SIZE - 8));
        assertFoundOut(value, 1);
    }
}
