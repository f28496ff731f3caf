package io.kvtier.store.cli;

/** A command cannot go on; the message alone tells the user why. */
final class CommandFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    CommandFailure(final String message) {
        super(message);
    }

    CommandFailure(final String message, final Throwable cause) {
        super(message, cause);
    }
}
