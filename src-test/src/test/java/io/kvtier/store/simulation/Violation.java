package io.kvtier.store.simulation;

/** Something happened that must not. */
final class Violation extends AssertionError {
    private static final long serialVersionUID = 1;

    Violation(final String message) {
        super(message);
    }
}
