package io.kvtier.transport.gds;

import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

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
 */
public record GdsConfig(boolean enabled, int ioBatchDepth, Mode mode, int threads, int batches, boolean requireDirect,
                        boolean allowCompat, long cancelWaitMs) {
    /** Installed, with batches of 128, direct or not. */
    public static final GdsConfig DEFAULT = new GdsConfig(true, 128, Mode.BATCH, 0, 4, false, true, 1000);

    private static final int MAX_DEPTH = 256;
    private static final int MAX_THREADS = 64;
    private static final int MAX_BATCHES = 16;
    private static final int MOST_BY_DEFAULT = 4;
    private static final long MAX_WAIT_MS = 60_000;
    private static final Set<String> KEYS = Set.of("enable", "io_batch_depth", "mode", "threads", "batches",
        "require_direct", "allow_compat", "cancel_wait_ms");

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
     */
    public GdsConfig {
        Objects.requireNonNull(mode, "mode");
        check("io_batch_depth", ioBatchDepth, 1, MAX_DEPTH);
        check("threads", threads, 0, MAX_THREADS);
        check("batches", batches, 1, MAX_BATCHES);
        check("cancel_wait_ms", cancelWaitMs, 0, MAX_WAIT_MS);
    }

    /**
     * Reads what a configuration holds under {@code transports/gds}; what it leaves out is as in {@link #DEFAULT}, but
     * for {@code enable}, which is then false.
     *
     * @param settings values by key: numbers, texts and booleans.
     * @return the configuration.
     * @throws IllegalArgumentException for an unknown key, a value of the wrong type or out of range, naming it.
     */
    public static GdsConfig of(final Map<String, ?> settings) {
        for (final String key : settings.keySet()) {
            if (!KEYS.contains(key)) {
                throw new IllegalArgumentException("transports/gds/" + key + " is no setting; there are "
                    + KEYS.stream().sorted().toList());
            }
        }
        final String modeName = value(settings, "mode", String.class, "batch");
        final Mode mode = switch (modeName) {
            case "batch" -> Mode.BATCH;
            case "sync" -> Mode.SYNC;
            default -> throw new IllegalArgumentException("transports/gds/mode is '" + modeName
                + "'; it must be batch or sync");
        };
        return new GdsConfig(value(settings, "enable", Boolean.class, false),
            number(settings, "io_batch_depth", DEFAULT.ioBatchDepth), mode,
            number(settings, "threads", DEFAULT.threads), number(settings, "batches", DEFAULT.batches),
            value(settings, "require_direct", Boolean.class, DEFAULT.requireDirect),
            value(settings, "allow_compat", Boolean.class, DEFAULT.allowCompat),
            number(settings, "cancel_wait_ms", (int) DEFAULT.cancelWaitMs));
    }

    /** How many threads serve one GPU. */
    int threadsFor(final Mode wanted) {
        if (threads > 0) {
            return threads;
        }
        return wanted == Mode.BATCH ? 1
            : Math.min(MOST_BY_DEFAULT, Runtime.getRuntime().availableProcessors());
    }

    private static int number(final Map<String, ?> settings, final String key, final int absent) {
        final Number number = value(settings, key, Number.class, absent);
        if (number.doubleValue() != number.intValue()) {
            throw new IllegalArgumentException("transports/gds/" + key + " is " + number + "; it must be a whole number"
                + " below 2^31");
        }
        return number.intValue();
    }

    private static <T> T value(final Map<String, ?> settings, final String key, final Class<T> type,
        final T absent) {
        final Object value = settings.get(key);
        if (value == null) {
            return absent;
        }
        if (!type.isInstance(value)) {
            throw new IllegalArgumentException("transports/gds/" + key + " is '" + value + "'; it must be a "
                + type.getSimpleName().toLowerCase(Locale.ROOT));
        }
        return type.cast(value);
    }

    private static void check(final String key, final long value, final long least, final long most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException("transports/gds/" + key + " is " + value + "; it must be from " + least
                + " to " + most);
        }
    }
}
