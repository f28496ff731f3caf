package io.kvtier.alloc;

/**
 * Numbers of bytes in whole units. A unit is a power of two.
 *
 * <p>Numbers that come from outside may be as large as there are: what would be rounded up beyond all numbers stays the
 * largest multiple there is, which fits nowhere, instead of becoming a small or negative one.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class Units {
    private Units() {
    }

    /**
     * Rounds up.
     *
     * @param bytes not negative.
     * @param unit  bytes of a unit.
     * @return the smallest multiple that is not less, or the largest one there is.
     */
    public static long up(final long bytes, final long unit) {
        return bytes > Long.MAX_VALUE - unit ? down(Long.MAX_VALUE, unit) : down(bytes + unit - 1, unit);
    }

    /**
     * Rounds down.
     *
     * @param bytes not negative.
     * @param unit  bytes of a unit.
     * @return the largest multiple that is not more.
     */
    public static long down(final long bytes, final long unit) {
        return bytes & -unit;
    }

    /**
     * What a value takes: whole units, and at least one, so that an empty value is somewhere too.
     *
     * @param bytes of the value, not negative.
     * @param unit  bytes of a unit.
     * @return bytes.
     */
    public static long taken(final long bytes, final long unit) {
        return Math.max(unit, up(bytes, unit));
    }
}
