package io.kvtier.bindings.hf3fs;

/**
 * What is prepared in a ring and not reaped: what was handed in with it, and a hold on its memory and its file. The
 * number of an entry is not used again while the ring lives (until 2^47 were given), so that a completion that comes
 * twice, or from nowhere, is recognised.
 *
 * <p><b>Threading:</b> none of its own; the user of the ring. <b>Allocation:</b> none but in the constructor.
 */
final class RingEntries {
    private static final int SLOT_BITS = 16;
    private static final int SLOT_MASK = (1 << SLOT_BITS) - 1;

    private final long[] numbers;
    private final long[] data;
    private final IoVector[] vectors;
    private final Hf3fsFile[] files;
    private final int[] free;
    private int freeCount;
    private long sequence;

    RingEntries(final int capacity) {
        numbers = new long[capacity];
        data = new long[capacity];
        vectors = new IoVector[capacity];
        files = new Hf3fsFile[capacity];
        free = new int[capacity];
        for (int slot = capacity - 1; slot >= 0; slot--) {
            free[freeCount++] = slot;
        }
    }

    int size() {
        return numbers.length - freeCount;
    }

    boolean isFull() {
        return freeCount == 0;
    }

    /** Takes a place, and holds what is named; {@code held} says that the caller has a hold on the file already. */
    long add(final IoVector vector, final Hf3fsFile file, final long userData, final boolean held) {
        vector.retain();
        try {
            if (held) {
                file.share();
            } else {
                file.retain();
            }
        } catch (final RuntimeException | Error e) {
            vector.release();
            throw e;
        }
        final int slot = free[--freeCount];
        vectors[slot] = vector;
        files[slot] = file;
        data[slot] = userData;
        numbers[slot] = ++sequence << SLOT_BITS | slot;
        return numbers[slot];
    }

    boolean has(final long number) {
        final int slot = (int) number & SLOT_MASK;
        return number != 0 && slot < numbers.length && numbers[slot] == number;
    }

    /** Frees the place of an entry, and lets go of what it held. */
    long end(final long number) {
        final int slot = (int) number & SLOT_MASK;
        final IoVector vector = vectors[slot];
        final Hf3fsFile file = files[slot];
        vectors[slot] = null;
        files[slot] = null;
        numbers[slot] = 0;
        free[freeCount++] = slot;
        try {
            file.release();
        } finally {
            vector.release();
        }
        return data[slot];
    }

    void endAll() {
        for (final long number : numbers) {
            if (number != 0) {
                end(number);
            }
        }
    }
}
