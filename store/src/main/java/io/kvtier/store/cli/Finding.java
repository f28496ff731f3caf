package io.kvtier.store.cli;

import io.kvtier.bindings.Availability;
import java.util.Locale;
import java.util.Objects;

/**
 * One thing that the doctor looked at.
 *
 * @param name   its name, for people and programs.
 * @param state  how it is.
 * @param found  what was found, in words.
 * @param remedy what to do about it; empty when nothing has to be done.
 */
record Finding(String name, State state, String found, String remedy) {
    /** How it is. */
    enum State {
        /** As it should be. */
        OK,
        /** It works, with less than there could be. */
        LIMITED,
        /** It is not here; what needs it does without. */
        ABSENT,
        /** It is here, or has to be, and does not work. */
        BROKEN;

        /** As it is shown and written. */
        String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    Finding {
        Objects.requireNonNull(found, "found");
        Objects.requireNonNull(remedy, "remedy");
    }

    static Finding ok(final String name, final String found) {
        return new Finding(name, State.OK, found, "");
    }

    static Finding limited(final String name, final String found, final String remedy) {
        return new Finding(name, State.LIMITED, found, remedy);
    }

    static Finding absent(final String name, final String found, final String remedy) {
        return new Finding(name, State.ABSENT, found, remedy);
    }

    static Finding broken(final String name, final String found, final String remedy) {
        return new Finding(name, State.BROKEN, found, remedy);
    }

    /** What a binding says of itself; not to be had counts as absent. */
    static Finding of(final String name, final Availability availability) {
        return new Finding(name, availability.available() ? State.OK : State.ABSENT, availability.reason(),
            availability.remedy());
    }
}
