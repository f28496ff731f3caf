package io.kvtier.bindings.uring;

/**
 * How a ring is made.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param depth          most operations between being prepared and being reaped, 1 to 16,384.
 * @param fileSlots      most registered files, 0 to 16,384; files attached beyond them work by descriptor.
 * @param bufferSlots    most registered buffers, 0 to 16,384; one is needed for each GiB begun of a region.
 * @param drainTimeoutMs how long a close, or a ring rebuilt after a failed submission, waits for operations to end, in
 *                       milliseconds, more than 0.
 */
public record UringOptions(int depth, int fileSlots, int bufferSlots, long drainTimeoutMs) {
    /** Upper limit of {@link #depth}. */
    public static final int MAX_DEPTH = 1 << 14;
    /** Default of {@link #drainTimeoutMs}. */
    public static final long DEFAULT_DRAIN_TIMEOUT_MS = 10_000;

    /**
     * Checks every value.
     *
     * @param depth          1 to 16,384.
     * @param fileSlots      0 to 16,384.
     * @param bufferSlots    0 to 16,384.
     * @param drainTimeoutMs more than 0.
     * @throws IllegalArgumentException naming the value that is wrong.
     */
    public UringOptions {
        check("depth", depth, 1, MAX_DEPTH);
        check("fileSlots", fileSlots, 0, UringLayout.MAX_FILE_SLOTS);
        check("bufferSlots", bufferSlots, 0, UringLayout.MAX_BUFFER_SLOTS);
        check("drainTimeoutMs", drainTimeoutMs, 1, Integer.MAX_VALUE);
    }

    /**
     * A ring of a depth, without registered files or buffers.
     *
     * @param depth most operations at once.
     * @return the options.
     */
    public static UringOptions ofDepth(final int depth) {
        return new UringOptions(depth, 0, 0, DEFAULT_DRAIN_TIMEOUT_MS);
    }

    /**
     * These options with room for registered files and buffers.
     *
     * @param files   slots for files.
     * @param buffers slots for buffers.
     * @return the changed copy.
     */
    public UringOptions withSlots(final int files, final int buffers) {
        return new UringOptions(depth, files, buffers, drainTimeoutMs);
    }

    private static void check(final String name, final long value, final long lowest, final long highest) {
        if (value < lowest || value > highest) {
            throw new IllegalArgumentException(name + " must be between " + lowest + " and " + highest + ", not "
                + value);
        }
    }
}
