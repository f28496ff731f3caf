package io.kvtier.store.cli;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * Contents of a value that follow from a seed alone, so that every byte that comes back can be checked without
 * keeping what was put. Two seeds differ in nearly every byte, and nothing in it compresses.
 *
 * <p>Word {@code i} is a mix of {@code seed + i * GAMMA} (the counter of SplitMix64 with a shorter finalizer); a size
 * that is no multiple of 8 ends with the first bytes of its last word.
 *
 * <p><b>Threading:</b> stateless. Nothing is allocated in the loops.
 */
final class PatternBytes {
    /** The store did what it should. */
    static final long SAME = -1;

    private static final ValueLayout.OfLong WORD =
        ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    /** 2^64 divided by the golden ratio, odd: the counter walks through all words before it repeats. */
    private static final long GAMMA = 0x9e3779b97f4a7c15L;
    /** The first multiplier of SplitMix64's finalizer. */
    private static final long MIX = 0xbf58476d1ce4e5b9L;
    private static final int SHIFT = 29;
    private static final long CHUNK_BYTES = 4096;

    private PatternBytes() {
    }

    /**
     * A seed for a value.
     *
     * @param id   number of the value.
     * @param size its size in bytes, so that the same number with another size has other contents.
     * @return the seed.
     */
    static long seed(final long id, final long size) {
        return word(word(id * GAMMA) + size);
    }

    /**
     * Writes the contents.
     *
     * @param target memory to fill, all of it.
     * @param seed   which contents.
     */
    static void fill(final MemorySegment target, final long seed) {
        final long size = target.byteSize();
        final long whole = size & -Long.BYTES;
        long counter = seed;
        for (long i = 0; i < whole; i += Long.BYTES) {
            target.set(WORD, i, word(counter));
            counter += GAMMA;
        }
        final long last = word(counter);
        for (long i = whole; i < size; i++) {
            target.set(ValueLayout.JAVA_BYTE, i, byteOf(last, i));
        }
    }

    /**
     * Compares memory with the contents.
     *
     * @param actual memory to check, all of it.
     * @param seed   which contents it should have.
     * @return offset of the first byte that differs, or {@link #SAME}.
     */
    static long firstDifference(final MemorySegment actual, final long seed) {
        final long size = actual.byteSize();
        final long whole = size & -Long.BYTES;
        for (long chunk = 0; chunk < whole; chunk += CHUNK_BYTES) {
            final long end = Math.min(chunk + CHUNK_BYTES, whole);
            if (differs(actual, chunk, end, seed)) {
                return locate(actual, chunk, end, seed);
            }
        }
        return locate(actual, whole, size, seed);
    }

    /**
     * Makes sure that memory does not hold the contents: a get that claims a hit and writes nothing, or only a part, is
     * then seen even when the memory was used for the same value before.
     *
     * @param target memory that a value will be read into.
     * @param seed   the contents it is going to get.
     */
    static void spoil(final MemorySegment target, final long seed) {
        final long size = target.byteSize();
        for (long i = 0; i < size; i += CHUNK_BYTES) {
            target.set(ValueLayout.JAVA_BYTE, i, (byte) ~byteAt(seed, i));
        }
        if (size > 0) {
            target.set(ValueLayout.JAVA_BYTE, size - 1, (byte) ~byteAt(seed, size - 1));
        }
    }

    /**
     * One byte of the contents.
     *
     * @param seed   which contents.
     * @param offset where.
     * @return the byte.
     */
    static byte byteAt(final long seed, final long offset) {
        return byteOf(word(seed + offset / Long.BYTES * GAMMA), offset);
    }

    /** Without a branch in the loop, so that it runs at the speed of memory. */
    private static boolean differs(final MemorySegment actual, final long start, final long end, final long seed) {
        long counter = seed + start / Long.BYTES * GAMMA;
        long difference = 0;
        for (long i = start; i < end; i += Long.BYTES) {
            difference |= actual.get(WORD, i) ^ word(counter);
            counter += GAMMA;
        }
        return difference != 0;
    }

    private static long locate(final MemorySegment actual, final long start, final long end, final long seed) {
        for (long i = start; i < end; i++) {
            if (actual.get(ValueLayout.JAVA_BYTE, i) != byteAt(seed, i)) {
                return i;
            }
        }
        return SAME;
    }

    private static long word(final long counter) {
        final long mixed = (counter ^ counter >>> Integer.SIZE) * MIX;
        return mixed ^ mixed >>> SHIFT;
    }

    private static byte byteOf(final long word, final long offset) {
        return (byte) (word >>> (offset % Long.BYTES * Byte.SIZE));
    }
}
