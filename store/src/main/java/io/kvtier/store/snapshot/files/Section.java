package io.kvtier.store.snapshot.files;

/** What a chunk has rows of. The numbers stand in files: stable, and never used again. */
enum Section {
    NUMBERS(1), SEGMENTS(2), FILES(3), TENANTS(4), TASKS(5), DRAINS(6), REMOVED(7), PATTERNS(8), OBJECTS(9);

    /** Of the last chunk. */
    static final int END = 0;

    private static final Section[] ALL = values();
    private final int number;

    Section(final int number) {
        this.number = number;
    }

    int number() {
        return number;
    }

    /** The section of a number; null when only a later version knows it. */
    static Section of(final int number) {
        for (final Section section : ALL) {
            if (section.number == number) {
                return section;
            }
        }
        return null;
    }
}
