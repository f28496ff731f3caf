package io.kvtier.store.cli;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A number of bytes as a user writes and reads it: {@code 65536}, {@code 64K}, {@code 64KiB}, {@code 1.5 GiB}. */
final class ByteSize implements ITypeConverter<Long> {
    private static final Pattern WRITTEN =
        Pattern.compile("(\\d{1,18})(?:([KMGT])(?:i?B)?)?", Pattern.CASE_INSENSITIVE);
    private static final String LETTERS = "KMGT";
    private static final int STEP_BITS = 10;
    private static final double STEP = 1 << STEP_BITS;

    ByteSize() {
    }

    @Override
    public Long convert(final String value) {
        return parse(value);
    }

    /**
     * Reads a number of bytes.
     *
     * @param value digits, and K, M, G or T for powers of 1,024.
     * @return bytes.
     */
    static long parse(final String value) {
        final Matcher matcher = WRITTEN.matcher(value);
        if (!matcher.matches()) {
            throw new TypeConversionException("'" + value
                + "' is not a number of bytes; write digits, then nothing or one of K, M, G, T");
        }
        final String letter = matcher.group(2);
        final int bits = letter == null ? 0
            : STEP_BITS * (1 + LETTERS.indexOf(letter.toUpperCase(Locale.ROOT).charAt(0)));
        final long number = Long.parseLong(matcher.group(1));
        if (number > Long.MAX_VALUE >> bits) {
            throw new TypeConversionException("'" + value + "' is more than " + Long.MAX_VALUE + " bytes");
        }
        return number << bits;
    }

    /**
     * Writes a number of bytes with a unit.
     *
     * @param bytes how many, or how many a second.
     * @return three to four digits and a unit.
     */
    static String shown(final double bytes) {
        if (bytes < STEP) {
            return String.format(Locale.ROOT, "%.0f B", bytes);
        }
        double scaled = bytes / STEP;
        int letter = 0;
        while (scaled >= STEP && letter < LETTERS.length() - 1) {
            scaled /= STEP;
            letter++;
        }
        return String.format(Locale.ROOT, "%.1f %ciB", scaled, LETTERS.charAt(letter));
    }
}
