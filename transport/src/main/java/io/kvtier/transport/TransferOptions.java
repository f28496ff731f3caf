package io.kvtier.transport;

/**
 * How a transfer is submitted.
 *
 * @param timeoutMs milliseconds from the submit on, waiting for room included, after which what has not been moved is
 *                  given up as TIMEOUT; 0 for no limit. The transfer still ends only when the device has let go of its
 *                  memory.
 * @param whenFull  what to do when the engine has as much under way as it may have.
 */
public record TransferOptions(long timeoutMs, WhenFull whenFull) {
    /** No limit in time; waits for room. */
    public static final TransferOptions DEFAULT = new TransferOptions(0, WhenFull.WAIT);

    /** What to do when there is no room. */
    public enum WhenFull {
        /** Wait in the order of arrival. */
        WAIT,
        /** Throw BUSY, which is worth trying again later. */
        REFUSE
    }

    /**
     * Validates.
     *
     * @param timeoutMs milliseconds, or 0.
     * @param whenFull  what to do when there is no room.
     */
    public TransferOptions {
        if (timeoutMs < 0 || whenFull == null) {
            throw new IllegalArgumentException("timeoutMs is " + timeoutMs + " and whenFull is " + whenFull
                + "; the first must be 0 (no limit) or more, the second must be given");
        }
    }

    /**
     * A limit in time; waits for room.
     *
     * @param timeoutMs milliseconds, or 0 for none.
     * @return the options.
     */
    public static TransferOptions within(final long timeoutMs) {
        return new TransferOptions(timeoutMs, WhenFull.WAIT);
    }
}
