package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;

/**
 * Rewrites a regular expression so that a search cannot get on without looking at the text, which is what
 * {@link KeyPattern} counts.
 *
 * <p>The library's matcher takes as long as it likes where it has nothing to look at: {@code ^} is true at the start as
 * often as it is asked, behind the end each letter fails unseen, and {@code (?:^|^)} sixty times over has
 * 2<sup>60</sup> ways to be true. So at the start of each group and of each alternative, and before each mark that
 * takes no character, there is put what is always true, takes nothing and looks at one character: the next one, or at
 * the end the last one. Whatever repeats or branches then passes one of these in each round. What does neither, a run
 * of single characters that may be absent, is as long as the pattern, and a step costs more for a long one.
 *
 * <pre>
 *   a(b|c?)*^$     a(?:LOOK b|LOOK c?)*(?:LOOK ^)(?:LOOK $)
 * </pre>
 *
 * <p>It looks at whole characters: what takes no room is not found between the two halves of a surrogate pair, where
 * the library finds some of it and not other.
 *
 * <p>Refused is what this cannot be done with: references to what a group has matched, the mode in which white space
 * and comments are passed over, under which brackets mean nothing, and boundaries of graphemes.
 *
 * <p><b>Threading:</b> one thread.
 */
final class SearchPattern {
    private static final String LOOK = "(?=[\\s\\S]|(?<=[\\s\\S]))";

    private final String pattern;
    private final StringBuilder out = new StringBuilder();
    private int at;

    private SearchPattern(final String pattern) {
        this.pattern = pattern;
    }

    /**
     * The same pattern, looking.
     *
     * @param pattern one that the library takes.
     * @return what has a match exactly where that one has.
     * @throws StoreException INVALID_PARAMS when it has what is refused.
     */
    static String of(final String pattern) {
        return new SearchPattern(pattern).rewritten();
    }

    private String rewritten() {
        while (at < pattern.length()) {
            switch (pattern.charAt(at)) {
                case '\\' -> escape();
                case '[' -> characters();
                case '(' -> group();
                case '|' -> {
                    take(1);
                    out.append(LOOK);
                }
                case '^', '$' -> mark(1);
                default -> take(1);
            }
        }
        return out.toString();
    }

    private void take(final int count) {
        final int end = Math.min(pattern.length(), at + count);
        out.append(pattern, at, end);
        at = end;
    }

    /** What takes no character, with a look before it; a quantifier behind it is one of both. */
    private void mark(final int count) {
        out.append("(?:").append(LOOK);
        take(count);
        out.append(')');
    }

    private char peek(final int ahead) {
        return at + ahead < pattern.length() ? pattern.charAt(at + ahead) : 0;
    }

    private void escape() {
        final char kind = peek(1);
        switch (kind) {
            case 'A', 'z', 'Z', 'G', 'B' -> mark(2);
            case 'b' -> {
                if (pattern.startsWith("{g}", at + 2)) {
                    // The library fails with an index of its own at the end of a text.
                    throw refused("asks for a boundary of graphemes (\\b{g})");
                }
                mark(2);
            }
            case '1', '2', '3', '4', '5', '6', '7', '8', '9', 'k' ->
                throw refused("refers to what a group has matched (\\" + kind + ')');
            default -> plainEscape();
        }
    }

    /** One that means the same within brackets. */
    private void plainEscape() {
        if (peek(1) == 'Q') {
            final int end = pattern.indexOf("\\E", at + 2);
            take((end < 0 ? pattern.length() : end + 2) - at);
        } else if (peek(1) == 'c') {
            if (peek(2) == '\\') {
                // The library may see the start of a quotation there.
                throw refused("has \\c\\; write \\x1c");
            }
            take(3);
        } else {
            take(2);
        }
    }

    /** A class of characters, with those within it. */
    private void characters() {
        int depth = 0;
        do {
            switch (pattern.charAt(at)) {
                case '[' -> {
                    depth++;
                    take(peek(1) == '^' ? 2 : 1);
                    checkStart();
                }
                case ']' -> {
                    depth--;
                    take(1);
                }
                case '\\' -> plainEscape();
                case '&' -> {
                    final boolean both = peek(1) == '&';
                    take(both ? 2 : 1);
                    if (both) {
                        checkStart();
                    }
                }
                default -> take(1);
            }
        } while (depth > 0 && at < pattern.length());
    }

    /** There a bracket may be one or a character, depending on what the library thinks. */
    private void checkStart() {
        if (peek(0) == ']' || peek(0) == '&') {
            throw refused("has " + peek(0) + " where a class of characters begins; write \\" + peek(0));
        }
    }

    private void group() {
        if (peek(1) != '?') {
            take(1);
            out.append(LOOK);
            return;
        }
        switch (peek(2)) {
            case ':', '=', '!', '>' -> take(3);
            case '<' -> take(peek(3) == '=' || peek(3) == '!' ? 4 : pattern.indexOf('>', at) + 1 - at);
            default -> {
                if (flags()) {
                    return;
                }
            }
        }
        out.append(LOOK);
    }

    /** Flags for what follows; whether there is no group to them. */
    private boolean flags() {
        int end = at + 2;
        while (pattern.charAt(end) != ':' && pattern.charAt(end) != ')') {
            if (pattern.charAt(end) == 'x') {
                throw refused("switches comments on ((?x))");
            }
            end++;
        }
        final boolean alone = pattern.charAt(end) == ')';
        take(end + 1 - at);
        return alone;
    }

    private StoreException refused(final String why) {
        return new StoreException(ErrorCode.INVALID_PARAMS, "the regular expression '" + pattern + "' " + why
            + ", with which keys are not searched");
    }
}
