package io.kvtier.store.cli.bench;

import io.kvtier.bindings.Availability;
import java.io.IOException;

/**
 * What is measured, against whom, and how good it should be.
 *
 * @param name   what; one line, the same on every machine.
 * @param unit   what is counted.
 * @param peer   with whom it is compared.
 * @param goal   least ratio that is good enough.
 * @param ours   whether this library can do it here, and if not, why.
 * @param opener makes the two sides ready.
 */
record Row(String name, Unit unit, Peer peer, double goal, Availability ours, Opener opener) {
    /** Makes the two sides of a row ready. */
    @FunctionalInterface
    interface Opener {
        Contest open() throws IOException, InterruptedException;
    }

    /** A row of this library that works everywhere. */
    Row(final String name, final Unit unit, final Peer peer, final double goal, final Opener opener) {
        this(name, unit, peer, goal, Availability.yes(""), opener);
    }
}
