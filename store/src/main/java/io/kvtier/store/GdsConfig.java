package io.kvtier.store;

import io.kvtier.store.config.GdsVariables;
import io.kvtier.transport.TransportKind;
import java.nio.file.Path;
import java.util.Objects;

/**
 * GDS offload: a file of a client's own that values are written to, by GPUDirect Storage or by what takes its place.
 * Immutable; {@link #NONE} with changes.
 *
 * @param file          the file, an absolute path in a folder that exists; made when absent. One store at a time may
 *                      use it. Null when {@code bytes} is 0.
 * @param bytes         how much it may hold, 0 for no GDS offload, else at least {@link StoreConfig#UNIT_BYTES}.
 * @param transport     what moves the bytes; no other takes its place where it cannot be had.
 * @param highWatermark share of it, more than 0 and at most 1, above which values are evicted.
 * @param lowWatermark  share of it, more than 0 and at most the high one, down to which they are.
 * @param warmRestart   whether what the file holds is there again when a store is opened on it.
 * @param remoteReads   whether other clients may read what it holds through this one; of no account in an embedded
 *                      store.
 */
public record GdsConfig(Path file, long bytes, Mover transport, double highWatermark, double lowWatermark,
                        boolean warmRestart, boolean remoteReads) {
    /** No GDS offload. */
    public static final GdsConfig NONE = of(GdsVariables.DEFAULT);

    /** What moves the bytes between memory and the file. */
    public enum Mover {
        /** GPUDirect Storage, or nothing: refused where it cannot be had. */
        GDS(TransportKind.GDS),
        /** io_uring, past the page cache; memory of a GPU goes through the host's. */
        IO_URING(TransportKind.IO_URING),
        /** System calls, past the page cache; memory of a GPU goes through the host's. */
        POSIX(TransportKind.POSIX);

        private final TransportKind kind;

        Mover(final TransportKind kind) {
            this.kind = kind;
        }

        /**
         * The transport of the engine that it stands for.
         *
         * @return its kind, whose name in a configuration is this one's.
         */
        public TransportKind kind() {
            return kind;
        }
    }

    /**
     * Validates.
     *
     * @throws StoreException INVALID_PARAMS, naming the setting, the value and what is allowed.
     */
    public GdsConfig {
        Objects.requireNonNull(transport, "transport");
        if (bytes != 0) {
            Setting.room("gdsBytes", bytes, "0 for no GDS offload, or " + Setting.ROOM);
            if (file == null) {
                throw Setting.invalid("gdsBytes is " + bytes + " but gdsFile is not set; set it, or gdsBytes to 0");
            }
        }
        if (file != null && !file.isAbsolute()) {
            throw Setting.invalid("gdsFile is '" + file + "'; allowed is an absolute path");
        }
        Setting.watermark("gdsHighWatermark", highWatermark);
        Setting.share("gdsLowWatermark", lowWatermark, lowWatermark > 0 && lowWatermark <= highWatermark,
            "more than 0 and at most gdsHighWatermark (" + highWatermark + ")");
    }

    /**
     * What the environment asks for.
     *
     * @param variables read from it.
     * @return settings.
     */
    public static GdsConfig of(final GdsVariables variables) {
        return new GdsConfig(variables.file(), variables.bytes(), mover(variables.transport()),
            variables.highWatermark(), variables.lowWatermark(), variables.warmRestart(), variables.remoteReads());
    }

    /** Of the three kinds that move files. */
    private static Mover mover(final TransportKind kind) {
        for (final Mover mover : Mover.values()) {
            if (mover.kind == kind) {
                return mover;
            }
        }
        throw Setting.invalid("gdsTransport is " + kind + "; allowed is GDS, IO_URING or POSIX");
    }

    /**
     * In another file.
     *
     * @param where absolute path of the file; null for none.
     * @param most  bytes that it may hold; 0 for no GDS offload.
     * @return changed settings.
     */
    public GdsConfig withRoom(final Path where, final long most) {
        return new GdsConfig(where, most, transport, highWatermark, lowWatermark, warmRestart, remoteReads);
    }

    /**
     * By another transport.
     *
     * @param mover what moves the bytes.
     * @return changed settings.
     */
    public GdsConfig withTransport(final Mover mover) {
        return new GdsConfig(file, bytes, mover, highWatermark, lowWatermark, warmRestart, remoteReads);
    }

    /**
     * With other watermarks.
     *
     * @param high share above which it evicts.
     * @param low  share down to which it evicts.
     * @return changed settings.
     */
    public GdsConfig withWatermarks(final double high, final double low) {
        return new GdsConfig(file, bytes, transport, high, low, warmRestart, remoteReads);
    }

    /**
     * Warm after a restart, or empty.
     *
     * @param warm whether what the file holds is there again.
     * @return changed settings.
     */
    public GdsConfig withWarmRestart(final boolean warm) {
        return new GdsConfig(file, bytes, transport, highWatermark, lowWatermark, warm, remoteReads);
    }

    /**
     * Read by others, or by its own client alone.
     *
     * @param others whether other clients may read what it holds through this one.
     * @return changed settings.
     */
    public GdsConfig withRemoteReads(final boolean others) {
        return new GdsConfig(file, bytes, transport, highWatermark, lowWatermark, warmRestart, others);
    }
}
