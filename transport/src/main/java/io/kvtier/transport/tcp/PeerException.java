package io.kvtier.transport.tcp;

import java.io.IOException;

/** The peer broke the protocol, or said that it ends the connection. Carries the status to tell or that was told. */
final class PeerException extends IOException {
    private static final long serialVersionUID = 1L;

    /** Number of a {@link Status}. */
    private final int code;

    PeerException(final Status status, final String message) {
        this(status.code(), message);
    }

    PeerException(final int code, final String message) {
        super(message);
        this.code = code;
    }

    int code() {
        return code;
    }
}
