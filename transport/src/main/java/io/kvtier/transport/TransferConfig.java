package io.kvtier.transport;

/**
 * Limits of a transfer engine.
 *
 * @param sliceBytes     largest piece that is moved by one operation, in bytes; a multiple of 4,096.
 * @param closeTimeoutMs milliseconds that closing waits for running transfers.
 */
public record TransferConfig(long sliceBytes, long closeTimeoutMs) {
    /** Slices of 16 MiB; 30 seconds to close. */
    public static final TransferConfig DEFAULT = new TransferConfig(16L << 20, 30_000);

    private static final long GRANULE = 4096;

    /**
     * Validates.
     *
     * @param sliceBytes     largest piece in bytes.
     * @param closeTimeoutMs milliseconds to close.
     */
    public TransferConfig {
        if (sliceBytes < GRANULE || sliceBytes % GRANULE != 0) {
            throw new IllegalArgumentException("sliceBytes is " + sliceBytes + "; it must be a positive multiple of "
                + GRANULE);
        }
        if (closeTimeoutMs < 0) {
            throw new IllegalArgumentException("closeTimeoutMs is " + closeTimeoutMs + "; it must not be negative");
        }
    }
}
