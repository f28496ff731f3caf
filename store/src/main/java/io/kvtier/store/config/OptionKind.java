package io.kvtier.store.config;

import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What the value of an option is: how its text is read, and which values there may be. */
sealed interface OptionKind {
    /**
     * Reads a value.
     *
     * @param text as it was written, without spaces around it.
     * @return the value; null for none that is allowed.
     */
    Object parse(String text);

    /**
     * Whether a value is allowed.
     *
     * @param value of this kind.
     */
    boolean allows(Object value);

    /** The values there may be, behind "it must be". */
    String allowed();

    /** True or false. */
    record Flag() implements OptionKind {
        @Override
        public Object parse(final String text) {
            return switch (text) {
                case "true" -> true;
                case "false" -> false;
                default -> null;
            };
        }

        @Override
        public boolean allows(final Object value) {
            return value instanceof Boolean;
        }

        @Override
        public String allowed() {
            return "true or false";
        }
    }

    /** A whole number. */
    record Whole(long min, long max) implements OptionKind {
        @Override
        public Object parse(final String text) {
            try {
                return Long.valueOf(text);
            } catch (final NumberFormatException e) {
                return null;
            }
        }

        @Override
        public boolean allows(final Object value) {
            return value instanceof Long number && number >= min && number <= max;
        }

        @Override
        public String allowed() {
            return "a whole number from " + min + " to " + max;
        }
    }

    /** A share of something. */
    record Share(boolean zero, boolean one) implements OptionKind {
        @Override
        public Object parse(final String text) {
            try {
                return Double.valueOf(text);
            } catch (final NumberFormatException e) {
                return null;
            }
        }

        @Override
        public boolean allows(final Object value) {
            return value instanceof Double share && (zero ? share >= 0 : share > 0) && (one ? share <= 1 : share < 1);
        }

        @Override
        public String allowed() {
            return "a number " + (zero ? "from 0" : "above 0") + (one ? " to 1" : " to below 1");
        }
    }

    /**
     * A time, in milliseconds. It is written as a number with {@code ms}, {@code s}, {@code m} or {@code h} behind it,
     * or with nothing behind it in the option's own unit.
     */
    record Time(String unit, long min, long max) implements OptionKind {
        private static final Pattern SHAPE = Pattern.compile("(\\d{1,18})\\s*(ms|s|m|h)?");
        private static final Map<String, Long> UNITS = Map.of("ms", 1L, "s", 1000L, "m", 60_000L, "h", 3_600_000L);

        @Override
        public Object parse(final String text) {
            final Matcher shape = SHAPE.matcher(text);
            if (!shape.matches()) {
                return null;
            }
            try {
                return Math.multiplyExact(Long.parseLong(shape.group(1)),
                    UNITS.get(shape.group(2) == null ? unit : shape.group(2)));
            } catch (final ArithmeticException e) {
                return null;
            }
        }

        @Override
        public boolean allows(final Object value) {
            return value instanceof Long ms && ms >= min && ms <= max;
        }

        @Override
        public String allowed() {
            return "a time from " + words(min) + " to " + words(max) + " (with ms, s, m or h behind it; a bare number "
                + "is " + (unit.equals("ms") ? "milliseconds" : "seconds") + ')';
        }

        /** In the longest unit that needs no fraction. */
        static String words(final long ms) {
            for (final String name : List.of("h", "m", "s")) {
                if (ms != 0 && ms % UNITS.get(name) == 0) {
                    return ms / UNITS.get(name) + name;
                }
            }
            return ms + "ms";
        }
    }

    /** A text without control characters. */
    record Text(String what, int max) implements OptionKind {
        @Override
        public Object parse(final String text) {
            return text;
        }

        @Override
        public boolean allows(final Object value) {
            return value instanceof String text && text.length() <= max
                && text.chars().noneMatch(Character::isISOControl);
        }

        @Override
        public String allowed() {
            return what + " of at most " + max + " characters";
        }
    }

    /** A word that names something: letters, digits, {@code . _ -}. */
    record Word(int max) implements OptionKind {
        private static final Pattern SHAPE = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]*");

        @Override
        public Object parse(final String text) {
            return text;
        }

        @Override
        public boolean allows(final Object value) {
            return value instanceof String text && text.length() <= max && SHAPE.matcher(text).matches();
        }

        @Override
        public String allowed() {
            return "1 to " + max + " letters, digits, '.', '_' or '-', the first one a letter or digit";
        }
    }

    /** One of some words. */
    record Choice(List<String> words) implements OptionKind {
        @Override
        public Object parse(final String text) {
            return text;
        }

        @Override
        public boolean allows(final Object value) {
            return value instanceof String word && words.contains(word);
        }

        @Override
        public String allowed() {
            return String.join(" or ", words);
        }
    }
}
