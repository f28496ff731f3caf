package io.kvtier.transport;

/** A transfer did not move its bytes. {@link #failure()} says why, as data. */
public final class TransferException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Why; immutable data, not part of a serialized form. */
    private final transient TransferFailure failure;

    /**
     * A failed transfer.
     *
     * @param failure why.
     */
    public TransferException(final TransferFailure failure) {
        super(failure.kind() + " at " + failure.segment() + ", offset " + failure.offset() + ", length "
            + failure.length() + ": " + failure.message());
        this.failure = failure;
    }

    /**
     * Why, as data.
     *
     * @return the failure that decided.
     */
    public TransferFailure failure() {
        return failure;
    }
}
