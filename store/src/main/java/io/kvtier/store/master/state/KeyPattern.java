package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * A regular expression that keys are searched for. A pattern that takes too many steps on a key is refused: the clients
 * that send them must not be able to stop the master.
 */
final class KeyPattern {
    /** Characters that a search may look at in one key. An ordinary pattern looks at each a few times. */
    private static final long MAX_STEPS = 200_000;

    private final Pattern pattern;

    private KeyPattern(final Pattern pattern) {
        this.pattern = pattern;
    }

    static KeyPattern of(final String pattern) {
        if (pattern.isEmpty()) {
            return new KeyPattern(null);
        }
        try {
            return new KeyPattern(Pattern.compile(pattern));
        } catch (final PatternSyntaxException e) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "'" + pattern + "' is no regular expression: "
                + e.getDescription() + " at position " + e.getIndex(), e);
        } catch (final StackOverflowError e) {
            throw tooHard(pattern);
        }
    }

    boolean isIn(final String key) {
        if (pattern == null) {
            return true;
        }
        try {
            return pattern.matcher(new Counted(key, new long[1], pattern.pattern())).find();
        } catch (final StackOverflowError e) {
            throw tooHard(pattern.pattern());
        }
    }

    private static StoreException tooHard(final String pattern) {
        return new StoreException(ErrorCode.INVALID_PARAMS, "the regular expression '" + pattern
            + "' needs more than " + MAX_STEPS + " steps on one key; use one with fewer nested repetitions");
    }

    /** A text that counts how often it is looked at. */
    private record Counted(CharSequence text, long[] steps, String pattern) implements CharSequence {
        @Override
        public int length() {
            return text.length();
        }

        @Override
        public char charAt(final int index) {
            if (++steps[0] > MAX_STEPS) {
                throw tooHard(pattern);
            }
            return text.charAt(index);
        }

        @Override
        public CharSequence subSequence(final int start, final int end) {
            return new Counted(text.subSequence(start, end), steps, pattern);
        }

        @Override
        public String toString() {
            return text.toString();
        }
    }
}
