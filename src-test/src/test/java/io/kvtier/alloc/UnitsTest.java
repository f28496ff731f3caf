package io.kvtier.alloc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigInteger;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class UnitsTest {
    private static final BigInteger LARGEST = BigInteger.valueOf(Long.MAX_VALUE);

    /** On both sides of the multiples at both ends of the numbers. */
    private static LongStream numbersAround(final long unit) {
        return LongStream.of(0, unit, 7 * unit, Long.MAX_VALUE - 2 * unit + 1, Long.MAX_VALUE - unit + 1)
            .flatMap(multiple -> LongStream.rangeClosed(-3, 3).map(step -> multiple + step).filter(n -> n >= 0));
    }

    /** By numbers without an end. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 8, 4096, 1L << 40, 1L << 62})
    void shouldRoundToMultiplesWhateverTheNumber(final long unit) {
        final BigInteger one = BigInteger.valueOf(unit);
        for (final long number : numbersAround(unit).toArray()) {
            final BigInteger[] parts = BigInteger.valueOf(number).divideAndRemainder(one);
            final BigInteger below = parts[0].multiply(one);
            final BigInteger above = parts[1].signum() == 0 ? below : below.add(one);
            final BigInteger up = above.compareTo(LARGEST) <= 0 ? above : LARGEST.divide(one).multiply(one);
            final String what = number + " in units of " + unit;

            assertEquals(below.longValueExact(), Units.down(number, unit), what);
            assertEquals(up.longValueExact(), Units.up(number, unit), what);
            assertEquals(up.max(one).longValueExact(), Units.taken(number, unit), what);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 4095, 4096})
    void shouldTakeAUnitForWhatIsNoMoreThanOne(final long size) {
        assertEquals(List.of(4096L, 4096L), List.of(Units.taken(size, 4096), Units.taken(4096, 4096)));
    }
}
