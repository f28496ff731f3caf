package io.kvtier.transport;

import java.util.HexFormat;

/**
 * Texts that come from somebody else, as they can be put into a line of a log or of a terminal: what would end the
 * line, move the cursor or turn the direction is shown by its number, like {@code \\u001b}.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class Printable {
    private Printable() {
    }

    /**
     * A text without control characters.
     *
     * @param text any text.
     * @return the same, if it has none.
     */
    public static String of(final String text) {
        for (int i = 0; i < text.length(); i++) {
            if (isControl(text.charAt(i))) {
                return escaped(text, i);
            }
        }
        return text;
    }

    private static String escaped(final String text, final int from) {
        final StringBuilder out = new StringBuilder(text.length() + 16).append(text, 0, from);
        for (int i = from; i < text.length(); i++) {
            final char c = text.charAt(i);
            if (isControl(c)) {
                out.append("\\u").append(HexFormat.of().toHexDigits(c));
            } else {
                out.append(c);
            }
        }
        return out.toString();
    }

    private static boolean isControl(final char c) {
        if (c >= ' ' && c < 0x7f) {
            return false;
        }
        final int type = Character.getType(c);
        return type == Character.CONTROL || type == Character.FORMAT || type == Character.LINE_SEPARATOR
            || type == Character.PARAGRAPH_SEPARATOR;
    }
}
