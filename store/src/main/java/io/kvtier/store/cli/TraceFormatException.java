package io.kvtier.store.cli;

import java.io.IOException;

/** A file is not a trace; the message names file, line and cause. */
final class TraceFormatException extends IOException {
    private static final long serialVersionUID = 1L;

    TraceFormatException(final String message) {
        super(message);
    }
}
