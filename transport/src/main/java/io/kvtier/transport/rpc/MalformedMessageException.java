package io.kvtier.transport.rpc;

/** A message is not what its reader takes: wrong type, out of range, too long, cut off. */
public final class MalformedMessageException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * What is wrong.
     *
     * @param message where, what was expected, what was found.
     */
    public MalformedMessageException(final String message) {
        super(message);
    }

    /**
     * What is wrong.
     *
     * @param message where, what was expected, what was found.
     * @param cause   what the decoder said.
     */
    public MalformedMessageException(final String message, final Throwable cause) {
        super(message, cause);
    }
}
