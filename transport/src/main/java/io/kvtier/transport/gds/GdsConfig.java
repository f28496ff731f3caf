package io.kvtier.transport.gds;

import java.util.Objects;

/**
 * Settings of the GPUDirect Storage transport, as they stand under {@code transports/gds}.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param enabled       {@code enable}: whether to install it at all; by default not.
 * @param ioBatchDepth  {@code io_batch_depth}: entries of a batch, 1 to 256; the driver may take fewer.
 * @param mode          {@code mode}: {@code batch}, or {@code sync} for synchronous calls.
 * @param threads       {@code threads}: threads for each GPU, 1 to 64; 0 for one with batches, and as many as there are
 *                      cores, four at the most, without.
 * @param batches       {@code batches}: batches that a thread has in flight at once, 1 to 16.
 * @param requireDirect {@code require_direct}: whether to install it only where something direct (nvidia-fs, PCI
 *                      P2PDMA) is there.
 * @param allowCompat   {@code allow_compat}: whether transfers may go through host memory, as {@code cufile.json}
 *                      says; they fail otherwise.
 * @param cancelWaitMs  {@code cancel_wait_ms}: milliseconds that are waited for word of a cancelled batch before it is
 *                      destroyed; the library often says nothing.
 * @param hostMemory    {@code host_memory}: whether host memory that is registered with an engine is moved too, where
 *                      compatibility mode is ruled out and a trial at opening succeeds; by default not, see
 *                      {@link GdsTransport}. Ordinary memory is pinned with CUDA when it is registered: that keeps all
 *                      of it in the machine's memory and takes as long as touching it.
 */
public record GdsConfig(boolean enabled, int ioBatchDepth, Mode mode, int threads, int batches, boolean requireDirect,
                        boolean allowCompat, long cancelWaitMs, boolean hostMemory) {
    /** Installed, with batches of 128, direct or not; host memory is left to others. */
    public static final GdsConfig DEFAULT = new GdsConfig(true, 128, Mode.BATCH, 0, 4, false, true, 1000, false);

    private static final int MAX_DEPTH = 256;
    private static final int MAX_THREADS = 64;
    private static final int MAX_BATCHES = 16;
    private static final int MOST_BY_DEFAULT = 4;
    private static final long MAX_WAIT_MS = 60_000;

    /** Which calls of the library move the bytes. */
    public enum Mode {
        /** Many entries a call, and the driver tells of each. */
        BATCH,
        /** One blocking call a slice. */
        SYNC
    }

    /**
     * Validates.
     *
     * @param enabled       whether to install it.
     * @param ioBatchDepth  entries of a batch.
     * @param mode          which calls.
     * @param threads       threads for each GPU.
     * @param batches       in flight at once.
     * @param requireDirect whether compatibility mode alone is not enough.
     * @param allowCompat   whether transfers may go through host memory.
     * @param cancelWaitMs  wait after a cancellation.
     * @param hostMemory    whether host memory is moved too.
     */
    public GdsConfig {
        Objects.requireNonNull(mode, "mode");
        check("io_batch_depth", ioBatchDepth, 1, MAX_DEPTH);
        check("threads", threads, 0, MAX_THREADS);
        check("batches", batches, 1, MAX_BATCHES);
        check("cancel_wait_ms", cancelWaitMs, 0, MAX_WAIT_MS);
    }

    /**
     * The same, with host memory or without.
     *
     * @param wanted whether it is moved too, where that can be had.
     * @return the configuration.
     */
    public GdsConfig withHostMemory(final boolean wanted) {
        return new GdsConfig(enabled, ioBatchDepth, mode, threads, batches, requireDirect, allowCompat, cancelWaitMs,
            wanted);
    }

    /** How many threads serve one GPU. */
    int threadsFor(final Mode wanted) {
        if (threads > 0) {
            return threads;
        }
        return wanted == Mode.BATCH ? 1
            : Math.min(MOST_BY_DEFAULT, Runtime.getRuntime().availableProcessors());
    }

    private static void check(final String key, final long value, final long least, final long most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException("transports/gds/" + key + " is " + value + "; it must be from " + least
                + " to " + most);
        }
    }
}
