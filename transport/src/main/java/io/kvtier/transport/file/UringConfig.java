package io.kvtier.transport.file;

/**
 * How the io_uring transport is made.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param threads        rings, each with a platform thread of its own, 1 to 64.
 * @param depth          operations that one ring has in the kernel at once, 1 to 4,096; what is submitted beyond waits
 *                       in the transport.
 * @param fixedBuffers   whether memory that is registered with the engine is pinned for the rings, once for each of
 *                       them; it counts against the limit on locked memory.
 * @param drainTimeoutMs milliseconds that a ring which failed, or is closed, waits for its operations, 1 to 2^31 - 1.
 */
public record UringConfig(int threads, int depth, boolean fixedBuffers, long drainTimeoutMs) {
    /** A ring a processor but at most 4, 64 operations each, registered memory pinned, 10 seconds. */
    public static final UringConfig DEFAULT =
        new UringConfig(Math.min(4, Runtime.getRuntime().availableProcessors()), 64, true, 10_000);

    private static final int MAX_THREADS = 64;
    private static final int MAX_DEPTH = 4096;

    /**
     * Validates.
     *
     * @param threads        rings.
     * @param depth          operations in the kernel a ring.
     * @param fixedBuffers   whether to pin registered memory.
     * @param drainTimeoutMs milliseconds to wait for operations of a ring that goes.
     */
    public UringConfig {
        check("threads", threads, MAX_THREADS);
        check("depth", depth, MAX_DEPTH);
        check("drainTimeoutMs", drainTimeoutMs, Integer.MAX_VALUE);
    }

    /**
     * The same with other rings.
     *
     * @param rings      how many.
     * @param operations in the kernel at once, each.
     * @return the configuration.
     */
    public UringConfig withRings(final int rings, final int operations) {
        return new UringConfig(rings, operations, fixedBuffers, drainTimeoutMs);
    }

    /**
     * The same with registered memory pinned or not.
     *
     * @param pinned whether it is.
     * @return the configuration.
     */
    public UringConfig withFixedBuffers(final boolean pinned) {
        return new UringConfig(threads, depth, pinned, drainTimeoutMs);
    }

    /**
     * The same with another time limit.
     *
     * @param timeoutMs milliseconds.
     * @return the configuration.
     */
    public UringConfig withDrainTimeout(final long timeoutMs) {
        return new UringConfig(threads, depth, fixedBuffers, timeoutMs);
    }

    private static void check(final String name, final long value, final long most) {
        if (value < 1 || value > most) {
            throw new IllegalArgumentException(name + " is " + value + "; it must be from 1 to " + most);
        }
    }
}
