package io.kvtier.store.cli.bench;

import io.kvtier.bindings.Availability;
import java.io.IOException;
import java.util.function.Supplier;

/**
 * What is measured, against whom, and how good it should be.
 *
 * @param name   what; one line, the same on every machine.
 * @param unit   what is counted.
 * @param peer   with whom it is compared.
 * @param goal   least ratio that is good enough.
 * @param ours   says whether this library can do it here, and if not, why; asked only when the row is wanted.
 * @param opener makes the two sides ready.
 */
record Row(String name, Unit unit, Peer peer, double goal, Supplier<Availability> ours, Opener opener) {
    /** This library can do it everywhere. */
    static final Supplier<Availability> EVERYWHERE = () -> Availability.yes("");

    /** Makes the two sides of a row ready. */
    @FunctionalInterface
    interface Opener {
        Contest open() throws IOException, InterruptedException;
    }
}
