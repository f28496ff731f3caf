package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Assume;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** Keys are found by a pattern exactly when the library finds a match of it as it was given. */
class SearchPatternProperties {
    private static final String[] PIECES = {"a", "b", "1", ".", "^", "$", "|", "(", "(?:", "(?=", "(?!", "(?<=", "(?<!",
        "(?>", "(?<n>", "(?i)", "(?i:", "(?-i)", "(?m)", "(?s)", ")", ")", ")", "*", "+", "?", "{2}", "{0,2}", "{1,}",
        "*?", "+?", "??", "++", "[ab]", "[^a]", "[a&&[^b]]", "[\\]|(]", "[[a]b]", "[\\Q]\\E(]", "\\b", "\\B",
        "\\A", "\\z", "\\Z", "\\G", "\\Q(|[\\E", "\\Q^", "\\d", "\\w", "\\x61", "\\(", "\\[", "\\\\", "\\|", "\\^",
        "\\cA", "\\R", "\\X", "\\p{L}", "\u00e4", "\ud83d\ude00", "-", "&&", "]", "\n"};

    /**
     * Is there anywhere in these keys, and has the library look at whole characters only. Where a pattern has no set of
     * characters and none beyond 16 bits, it also finds what takes no room between the two halves of one.
     */
    private static final String WHOLE_CHARACTERS = "(?!\ud83d\ude01)";

    @Provide
    Arbitrary<List<String>> patterns() {
        return Arbitraries.of(PIECES).list().ofMinSize(1).ofMaxSize(10);
    }

    @Provide
    Arbitrary<List<String>> keys() {
        return Arbitraries.of("a", "A", "b", "1", "-", "\n", "\r", " ", "(", "|", "\u00e4", "\ud83d\ude00").list()
            .ofMinSize(1).ofMaxSize(6);
    }

    @Property(tries = 5_000)
    void keysAreFoundAsByTheLibrary(@ForAll("patterns") final List<String> pieces,
        @ForAll("keys") final List<String> characters) {
        final String pattern = String.join("", pieces);
        final String key = String.join("", characters);
        final boolean found;
        try {
            Pattern.compile(pattern);
            found = Pattern.compile(WHOLE_CHARACTERS + pattern).matcher(key).find();
        } catch (final PatternSyntaxException e) {
            Assume.that(false);
            return;
        }
        assertEquals(found, KeyPattern.of(pattern).isIn(key), () -> "'" + key + "' by " + SearchPattern.of(pattern));
    }
}
