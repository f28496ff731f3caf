package io.kvtier.store.cli.bench;

import io.kvtier.bindings.Availability;
import java.io.IOException;

/**
 * With whom this library is compared.
 *
 * @param name         its name.
 * @param availability whether it can be measured here: a program's version, or which package brings it.
 */
record Peer(String name, Availability availability) {
    /** A loop, a limit or another part of this program. */
    static Peer builtIn(final String name) {
        return new Peer(name, Availability.yes(""));
    }

    /** A program. It is asked for its version, once. */
    static Peer program(final String name, final String debianPackage) throws InterruptedException {
        try {
            final Programs.Output answer = Programs.run(name, "--version");
            if (answer.status() == 0) {
                return new Peer(name, Availability.yes(answer.text().lines().findFirst().orElse(name)));
            }
        } catch (final IOException expected) {
            // It is not there; any other trouble has the same cure.
        }
        return new Peer(name, Availability.no("not installed", "Debian package " + debianPackage));
    }

    /** Whether this is a program, which has a version of its own. */
    boolean isProgram() {
        return availability.available() && !availability.reason().isEmpty();
    }
}
