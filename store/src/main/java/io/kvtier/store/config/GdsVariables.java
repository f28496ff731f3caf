package io.kvtier.store.config;

import io.kvtier.alloc.extent.ExtentAllocator;
import io.kvtier.transport.TransportKind;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;

/**
 * GDS offload as the environment asks for it, see {@code store/OPERATIONS.md}.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param file          {@link #PATH}: the backing file; null in {@link #DEFAULT} only.
 * @param bytes         {@link #BYTES}: how much it may hold; 0 in {@link #DEFAULT} only.
 * @param transport     {@link #TRANSPORT}: GDS, IO_URING or POSIX.
 * @param highWatermark {@link #HIGH_WATERMARK}: share above which values are evicted, above 0 to 1.
 * @param lowWatermark  {@link #LOW_WATERMARK}: share down to which they are, above 0 to the high one.
 * @param warmRestart   {@link #WARM_RESTART}: whether what the file holds is there again after a restart.
 * @param remoteReads   {@link #REMOTE_READS}: whether other clients may read it.
 */
public record GdsVariables(Path file, long bytes, TransportKind transport, double highWatermark, double lowWatermark,
                           boolean warmRestart, boolean remoteReads) {
    /** Whether there is GDS offload; without it the others are not looked at. */
    public static final String ENABLED = "MOONCAKE_GDS_OFFLOAD_ENABLED";
    /** Absolute path of the backing file. */
    public static final String PATH = "MOONCAKE_GDS_OFFLOAD_PATH";
    /** Bytes that it may hold. */
    public static final String BYTES = "MOONCAKE_OFFLOAD_TOTAL_SIZE_LIMIT_BYTES";
    /** What moves the bytes. */
    public static final String TRANSPORT = "MOONCAKE_GDS_OFFLOAD_TRANSPORT";
    /** Whether a restart is warm. */
    public static final String WARM_RESTART = "MOONCAKE_GDS_OFFLOAD_WARM_RESTART";
    /** Whether others may read. */
    public static final String REMOTE_READS = "MOONCAKE_GDS_OFFLOAD_REMOTE_READS";
    /** Share above which it evicts. */
    public static final String HIGH_WATERMARK = "MOONCAKE_GDS_OFFLOAD_HIGH_WATERMARK";
    /** Share down to which it evicts. */
    public static final String LOW_WATERMARK = "MOONCAKE_GDS_OFFLOAD_LOW_WATERMARK";
    /** Whether the transfer engine is used, which has no other beside it here. */
    public static final String USE_TENT = "MC_USE_TENT";

    /** What holds where nothing is said: no file, and so no GDS offload. */
    public static final GdsVariables DEFAULT = new GdsVariables(null, 0, TransportKind.GDS, 0.95, 0.85, true, true);

    private static final long LEAST_BYTES = ExtentAllocator.DEFAULT_UNIT_BYTES;
    private static final long MOST_BYTES = ExtentAllocator.MAX_CAPACITY_BYTES;
    private static final String WITHOUT = "; or set " + ENABLED + " to 0";

    /**
     * Reads the variables.
     *
     * @param environment where they are looked for.
     * @return what they say; empty when GDS offload is not enabled there.
     * @throws IllegalArgumentException when one is wrong, or missing: names it, its value, and what to do.
     */
    public static Optional<GdsVariables> from(final Environment environment) {
        if (!flag(environment, ENABLED, false)) {
            return Optional.empty();
        }
        final double high = share(environment, HIGH_WATERMARK, DEFAULT.highWatermark, 1, "1");
        // Who lowers the high one alone has said nothing of the low one.
        final double low = share(environment, LOW_WATERMARK, Math.min(high, DEFAULT.lowWatermark), high,
            HIGH_WATERMARK + " (" + high + ")");
        return Optional.of(new GdsVariables(path(environment), bytes(environment), transport(environment), high, low,
            flag(environment, WARM_RESTART, DEFAULT.warmRestart), flag(environment, REMOTE_READS,
            DEFAULT.remoteReads)));
    }

    /**
     * Refuses an environment that switches the transfer engine off, for a store with GDS offload.
     *
     * @param environment where {@link #USE_TENT} is looked for.
     * @throws IllegalArgumentException when it is false, or no truth value.
     */
    public static void requireEngine(final Environment environment) {
        if (!flag(environment, USE_TENT, true)) {
            throw new IllegalArgumentException(USE_TENT + " is '" + environment.get(USE_TENT).orElseThrow()
                + "', and GDS offload is on: what moves its bytes are transports of the engine that this switches "
                + "off, and there is no other; unset " + USE_TENT + " or set it to 1, or turn GDS offload off ("
                + ENABLED + "=0, unless it is on by a configuration or the command line)");
        }
    }

    private static Path path(final Environment environment) {
        final String text = environment.get(PATH).orElseThrow(() -> missing(PATH,
            "the absolute path of the backing file"));
        final String allowed = "the absolute path of a file in a folder that exists" + WITHOUT;
        final Path path;
        try {
            path = Path.of(text);
        } catch (final InvalidPathException e) {
            throw wrong(PATH, text, allowed);
        }
        if (!path.isAbsolute()) {
            throw wrong(PATH, text, allowed);
        }
        return path;
    }

    private static long bytes(final Environment environment) {
        final String allowed = "the bytes that the backing file may hold, a whole number from " + LEAST_BYTES + " to "
            + MOST_BYTES;
        final String text = environment.get(BYTES).orElseThrow(() -> missing(BYTES, allowed));
        try {
            final long bytes = Long.parseLong(text);
            if (bytes >= LEAST_BYTES && bytes <= MOST_BYTES) {
                return bytes;
            }
        } catch (final NumberFormatException e) {
            throw wrong(BYTES, text, allowed + WITHOUT);
        }
        throw wrong(BYTES, text, allowed + WITHOUT);
    }

    private static TransportKind transport(final Environment environment) {
        final String text = environment.get(TRANSPORT).orElse(DEFAULT.transport.configName());
        return switch (text) {
            case "gds" -> TransportKind.GDS;
            case "io_uring" -> TransportKind.IO_URING;
            case "posix" -> TransportKind.POSIX;
            default -> throw wrong(TRANSPORT, text, "gds, io_uring or posix; unset it for "
                + DEFAULT.transport.configName());
        };
    }

    private static double share(final Environment environment, final String name, final double byDefault,
        final double most, final String mostInWords) {
        final Optional<String> text = environment.get(name);
        if (text.isEmpty()) {
            return byDefault;
        }
        final String allowed = "a number above 0, at most " + mostInWords + "; unset it for " + byDefault;
        try {
            final double share = Double.parseDouble(text.get());
            if (share > 0 && share <= most) {
                return share;
            }
        } catch (final NumberFormatException e) {
            throw wrong(name, text.get(), allowed);
        }
        throw wrong(name, text.get(), allowed);
    }

    /** A truth value; also of others who are read as these are. */
    static boolean flag(final Environment environment, final String name, final boolean byDefault) {
        final String text = environment.get(name).orElse(byDefault ? "1" : "0");
        return switch (text.toLowerCase(Locale.ROOT)) {
            case "1", "true" -> true;
            case "0", "false" -> false;
            default -> throw wrong(name, text, "1, true, 0 or false; unset it for " + byDefault);
        };
    }

    private static IllegalArgumentException missing(final String name, final String what) {
        return new IllegalArgumentException(ENABLED + " is true and " + name + " is not set; set it to " + what
            + WITHOUT);
    }

    static IllegalArgumentException wrong(final String name, final String value, final String allowed) {
        return new IllegalArgumentException(name + " is '" + value + "'; it must be " + allowed);
    }
}
