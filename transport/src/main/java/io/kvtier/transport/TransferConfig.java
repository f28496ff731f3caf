package io.kvtier.transport;

import java.util.Objects;

/**
 * Limits of a transfer engine.
 *
 * @param sliceBytes          largest piece that is moved by one operation, in bytes; a multiple of 4,096.
 * @param closeTimeoutMs      milliseconds that closing waits for running transfers, and once more for those that it
 *                            then asked to end early.
 * @param maxOutstanding      slices that may be under way, over all transports; what is submitted beyond waits.
 * @param maxOutstandingBytes bytes that may be under way, over all transports.
 * @param maxFailovers        transports that a slice may be tried on after the first one failed.
 * @param selection           which transports serve which requests.
 */
public record TransferConfig(long sliceBytes, long closeTimeoutMs, long maxOutstanding, long maxOutstandingBytes,
                             int maxFailovers, Selection selection) {
    /** Slices of 16 MiB; 30 seconds to close; 1,024 slices and 1 GiB under way; 3 failovers. */
    public static final TransferConfig DEFAULT = new TransferConfig(16L << 20, 30_000);

    private static final long GRANULE = 4096;
    private static final long DEFAULT_OUTSTANDING = 1024;
    private static final long DEFAULT_OUTSTANDING_BYTES = 1L << 30;
    private static final int DEFAULT_FAILOVERS = 3;

    /**
     * Validates.
     *
     * @param sliceBytes          largest piece in bytes.
     * @param closeTimeoutMs      milliseconds to close.
     * @param maxOutstanding      slices under way.
     * @param maxOutstandingBytes bytes under way.
     * @param maxFailovers        further transports a slice.
     * @param selection           which transports serve which requests.
     */
    public TransferConfig {
        if (sliceBytes < GRANULE || sliceBytes % GRANULE != 0) {
            throw new IllegalArgumentException("sliceBytes is " + sliceBytes + "; it must be a positive multiple of "
                + GRANULE);
        }
        if (closeTimeoutMs < 0) {
            throw new IllegalArgumentException("closeTimeoutMs is " + closeTimeoutMs + "; it must not be negative");
        }
        if (maxOutstanding < 1 || maxOutstanding > Admission.MAX_SLICES) {
            throw new IllegalArgumentException("maxOutstanding is " + maxOutstanding + "; it must be from 1 to "
                + Admission.MAX_SLICES);
        }
        if (maxOutstandingBytes < 1 || maxOutstandingBytes > Admission.MAX_BYTES) {
            throw new IllegalArgumentException("maxOutstandingBytes is " + maxOutstandingBytes
                + "; it must be from 1 to " + Admission.MAX_BYTES);
        }
        if (maxFailovers < 0) {
            throw new IllegalArgumentException("maxFailovers is " + maxFailovers + "; it must not be negative");
        }
        Objects.requireNonNull(selection, "selection");
    }

    /**
     * The default limits but for two.
     *
     * @param sliceBytes     largest piece in bytes.
     * @param closeTimeoutMs milliseconds to close.
     */
    public TransferConfig(final long sliceBytes, final long closeTimeoutMs) {
        this(sliceBytes, closeTimeoutMs, DEFAULT_OUTSTANDING, DEFAULT_OUTSTANDING_BYTES, DEFAULT_FAILOVERS,
            Selection.DEFAULT);
    }

    /**
     * The same with other bounds of what is under way.
     *
     * @param slices at most.
     * @param bytes  at most.
     * @return the configuration.
     */
    public TransferConfig withOutstanding(final long slices, final long bytes) {
        return new TransferConfig(sliceBytes, closeTimeoutMs, slices, bytes, maxFailovers, selection);
    }

    /**
     * The same with another table of transports.
     *
     * @param table the table.
     * @return the configuration.
     */
    public TransferConfig withSelection(final Selection table) {
        return new TransferConfig(sliceBytes, closeTimeoutMs, maxOutstanding, maxOutstandingBytes, maxFailovers, table);
    }
}
