package io.kvtier.bindings.uring;

/**
 * Gives numbers for objects, so that a ring's user data can stand for one: a request goes in when its operation is
 * prepared, and comes out in the completion handler.
 *
 * <p>A number is not used again while the table lives (until 2^48 were given), so that one which was taken out already,
 * or never put in, is recognised.
 *
 * <p><b>Threading:</b> none of its own; the owner of the ring. <b>Allocation:</b> none but in the constructor.
 *
 * @param <T> what the numbers stand for.
 */
public final class UserDataTable<T> {
    private static final int SLOT_BITS = 16;
    private static final int SLOT_MASK = (1 << SLOT_BITS) - 1;
    private static final long NONE = 0;

    private final Object[] values;
    private final long[] numbers;
    private final int[] free;
    private int freeCount;
    private long sequence;

    /**
     * Makes an empty table.
     *
     * @param capacity most objects at once, 1 to {@link UringOptions#MAX_DEPTH}: the depth of the ring, as a rule.
     */
    public UserDataTable(final int capacity) {
        if (capacity < 1 || capacity > UringOptions.MAX_DEPTH) {
            throw new IllegalArgumentException("capacity must be between 1 and " + UringOptions.MAX_DEPTH + ", not "
                + capacity);
        }
        values = new Object[capacity];
        numbers = new long[capacity];
        free = new int[capacity];
        for (int slot = capacity - 1; slot >= 0; slot--) {
            free[freeCount++] = slot;
        }
    }

    /**
     * Puts an object in.
     *
     * @param value the object.
     * @return its number, never 0.
     * @throws IllegalStateException when full.
     */
    public long put(final T value) {
        if (freeCount == 0) {
            throw new IllegalStateException("all " + values.length + " places are taken: reap first, or make the table"
                + " as large as the ring is deep");
        }
        final int slot = free[--freeCount];
        values[slot] = value;
        numbers[slot] = ++sequence << SLOT_BITS | slot;
        return numbers[slot];
    }

    /**
     * Takes an object out, and frees its place.
     *
     * @param number what {@link #put} gave.
     * @return the object.
     * @throws IllegalArgumentException when nothing is kept under it.
     */
    @SuppressWarnings("unchecked") // Only put stores values.
    public T take(final long number) {
        final int slot = (int) number & SLOT_MASK;
        if (number == NONE || slot >= numbers.length || numbers[slot] != number) {
            throw new IllegalArgumentException("nothing is kept under 0x" + Long.toHexString(number)
                + ": taken out before, or of another table");
        }
        final T value = (T) values[slot];
        values[slot] = null;
        numbers[slot] = NONE;
        free[freeCount++] = slot;
        return value;
    }

    /**
     * How many objects are in it.
     *
     * @return 0 to the capacity.
     */
    public int size() {
        return values.length - freeCount;
    }
}
