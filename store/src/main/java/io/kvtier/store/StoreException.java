package io.kvtier.store;

import java.util.Objects;

/**
 * The store could not do what was asked. The message names the key or setting, the value, the limit and what to do;
 * {@link #code()} is for programs.
 *
 * <p>A miss or a full store is not an exception, see {@link GetOutcome} and {@link PutOutcome}.
 *
 * <p><b>Threading:</b> immutable but for what every {@link Throwable} lets be added.
 */
public final class StoreException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Why. */
    private final ErrorCode code;

    /**
     * A failure.
     *
     * @param code    why.
     * @param message what exactly, and what to do.
     */
    public StoreException(final ErrorCode code, final String message) {
        this(code, message, null);
    }

    /**
     * A failure with a cause.
     *
     * @param code    why.
     * @param message what exactly, and what to do.
     * @param cause   what happened below.
     */
    public StoreException(final ErrorCode code, final String message, final Throwable cause) {
        super(code + ": " + message, cause);
        this.code = Objects.requireNonNull(code, "code");
    }

    /**
     * Why the call failed.
     *
     * @return the code.
     */
    public ErrorCode code() {
        return code;
    }
}
