package io.kvtier.store.cli.bench;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Makes values distinguishable at little cost: in each page, and at the very end, a word that follows from the value's
 * number and the place. The bytes between are whatever they were. A value of another key, one of zeros, one whose pages
 * are mixed up and one that is cut short are all found out.
 */
final class Stamps {
    private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG_UNALIGNED;
    private static final long PAGE_BYTES = 4096;
    /** Odd, and so a different word for each number and page; 2^64 divided by the golden ratio. */
    private static final long MIX = 0x9e3779b97f4a7c15L;

    private Stamps() {
    }

    static void write(final MemorySegment value, final long number) {
        for (long at = 0; at < value.byteSize(); at += PAGE_BYTES) {
            value.set(WORD, at, word(number, at));
        }
        value.set(WORD, value.byteSize() - Long.BYTES, word(number, value.byteSize()));
    }

    /** Makes sure that memory does not hold the value that is going to be fetched into it. */
    static void spoil(final MemorySegment value) {
        value.set(WORD, 0, 0);
        value.set(WORD, value.byteSize() - Long.BYTES, 0);
    }

    static void check(final MemorySegment value, final long number) throws IOException {
        for (long at = 0; at < value.byteSize(); at += PAGE_BYTES) {
            check(value.get(WORD, at), number, at);
        }
        check(value.get(WORD, value.byteSize() - Long.BYTES), number, value.byteSize());
    }

    private static void check(final long found, final long number, final long at) throws IOException {
        if (found != word(number, at)) {
            throw new IOException("value " + number + " is wrong at byte " + at + ": " + Long.toHexString(found)
                + " instead of " + Long.toHexString(word(number, at)));
        }
    }

    /** Never 0 for numbers and places that occur. */
    private static long word(final long number, final long at) {
        return (number + 1) * MIX + at;
    }
}
