package io.kvtier.store.snapshot.files;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The name of a snapshot. In the order of their text they are in the order of time.
 *
 * @param term   of the master that took it, not negative.
 * @param number which of that master's it is, from 1 on.
 */
public record SnapshotId(long term, long number) implements Comparable<SnapshotId> {
    private static final Pattern TEXT = Pattern.compile("(\\d{19})-(\\d{10})");
    private static final long MOST = 9_999_999_999L;

    /**
     * Validates.
     *
     * @throws IllegalArgumentException naming what is out of range.
     */
    public SnapshotId {
        if (term < 0 || number < 1 || number > MOST) {
            throw new IllegalArgumentException("snapshot " + number + " of term " + term + "; terms are not negative, "
                + "and numbers from 1 to " + MOST);
        }
    }

    /** The id that a text is, if it is one. */
    static Optional<SnapshotId> of(final String text) {
        final Matcher parts = TEXT.matcher(text);
        if (!parts.matches()) {
            return Optional.empty();
        }
        try {
            return Optional.of(new SnapshotId(Long.parseLong(parts.group(1)), Long.parseLong(parts.group(2))));
        } catch (final IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    /** The id that a name of a file begins with, if it does. */
    static Optional<SnapshotId> ofName(final String name) {
        return name.length() < 30 ? Optional.empty() : of(name.substring(0, 30));
    }

    String payload() {
        return this + ".payload";
    }

    String manifest() {
        return this + MANIFEST;
    }

    /** What the names of manifests end with. */
    static final String MANIFEST = ".manifest";

    @Override
    public int compareTo(final SnapshotId other) {
        final int byTerm = Long.compare(term, other.term);
        return byTerm != 0 ? byTerm : Long.compare(number, other.number);
    }

    @Override
    public String toString() {
        return String.format("%019d-%010d", term, number);
    }
}
