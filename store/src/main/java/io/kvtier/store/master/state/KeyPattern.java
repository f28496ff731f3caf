package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * A regular expression that the keys of one part of a scan are searched for. A step is a look at a character, without
 * which {@link SearchPattern} lets no search get on; with a pattern of thousands of characters it is several. A part
 * that has taken many ends with the bucket that it is at; a pattern that takes too many on a key, or on the keys of one
 * bucket, is refused: the clients that send them must not be able to stop the master.
 */
final class KeyPattern {
    /** Characters that a search may look at in one key. An ordinary pattern looks at each a few times. */
    private static final long MAX_STEPS = 200_000;
    /** Steps after which a part ends at the next bucket: some milliseconds. */
    private static final long PART_STEPS = 2_000_000;
    /** Steps of all keys of a part: some ten milliseconds. */
    private static final long MAX_PART_STEPS = 10_000_000;

    /** Characters of a pattern that may be tried in vain between two looks; more of them make a look cost more. */
    private static final int CHEAP_CHARACTERS = 1024;

    private final String text;
    private final Pattern pattern;
    private final int stepsOfALook;
    private long steps;

    private KeyPattern(final String text, final Pattern pattern) {
        this.text = text;
        this.pattern = pattern;
        this.stepsOfALook = 1 + text.length() / CHEAP_CHARACTERS;
    }

    static KeyPattern of(final String pattern) {
        if (pattern.isEmpty()) {
            return new KeyPattern(pattern, null);
        }
        try {
            // First as it is: what is wrong with it is told by where that stands in it.
            Pattern.compile(pattern);
            return new KeyPattern(pattern, Pattern.compile(SearchPattern.of(pattern)));
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
        final long until = Math.min(steps + MAX_STEPS, MAX_PART_STEPS);
        try {
            return pattern.matcher(new Counted(key, until)).find();
        } catch (final StackOverflowError e) {
            throw tooHard(text);
        }
    }

    /** Begins another part. */
    void restart() {
        steps = 0;
    }

    /** Whether this part should look at no further bucket. */
    boolean isUsedUp() {
        return steps >= PART_STEPS;
    }

    private StoreException tooMany() {
        return steps < MAX_PART_STEPS ? tooHard(text) : new StoreException(ErrorCode.INVALID_PARAMS,
            "the regular expression '" + text + "' needs more than " + MAX_PART_STEPS
                + " steps on the keys of one part of the scan; use one with fewer repetitions, or that begins with ^");
    }

    private static StoreException tooHard(final String pattern) {
        return new StoreException(ErrorCode.INVALID_PARAMS, "the regular expression '" + pattern
            + "' needs more than " + MAX_STEPS + " steps on one key; use one with fewer nested repetitions");
    }

    /** A text that counts how often it is looked at. */
    private final class Counted implements CharSequence {
        private final CharSequence key;
        private final long until;

        Counted(final CharSequence key, final long until) {
            this.key = key;
            this.until = until;
        }

        @Override
        public int length() {
            return key.length();
        }

        @Override
        public char charAt(final int index) {
            steps += stepsOfALook;
            if (steps > until) {
                throw tooMany();
            }
            return key.charAt(index);
        }

        @Override
        public CharSequence subSequence(final int start, final int end) {
            return new Counted(key.subSequence(start, end), until);
        }

        @Override
        public String toString() {
            return key.toString();
        }
    }
}
