package io.kvtier.store.cli;

import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Locale;

/** Checks what a get brought; a wrong byte ends the command. */
final class ValueCheck {
    private ValueCheck() {
    }

    /**
     * Checks size and every byte of a hit.
     *
     * @param key     the value's name, for the message.
     * @param outcome a hit.
     * @param actual  the memory it was read into, exactly as long as the value should be.
     * @param seed    the contents it should have.
     * @throws CommandFailure naming key, offset and tier.
     */
    static void require(final ObjectKey key, final GetOutcome outcome, final MemorySegment actual, final long seed) {
        if (outcome.valueSize() != actual.byteSize()) {
            throw new CommandFailure("wrong size: key " + key + " came back from " + outcome.tier() + " with "
                + outcome.valueSize() + " bytes, " + actual.byteSize() + " were put");
        }
        final long offset = PatternBytes.firstDifference(actual, seed);
        if (offset != PatternBytes.SAME) {
            throw new CommandFailure(String.format(Locale.ROOT,
                "wrong byte: key %s, offset %d of %d, from %s: is 0x%02x, should be 0x%02x", key, offset,
                actual.byteSize(), outcome.tier(), actual.get(ValueLayout.JAVA_BYTE, offset),
                PatternBytes.byteAt(seed, offset)));
        }
    }
}
