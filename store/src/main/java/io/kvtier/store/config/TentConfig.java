package io.kvtier.store.config;

import io.kvtier.transport.Selection;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.gds.GdsConfig;
import io.kvtier.transport.tcp.TcpConfig;
import java.util.List;
import java.util.Optional;

/**
 * Settings of the transfer engine as {@code MC_TENT_CONF} gives them: a path, or the JSON itself. Keys and defaults are
 * those of the transfer engine whose configuration this reads, as far as there is such a transport here.
 *
 * @param maxFailovers        {@code max_failover_attempts}: transports a slice is tried on after the first failed.
 * @param maxOutstanding      {@code runtime_queue/max_outstanding_owners}: slices under way.
 * @param maxOutstandingBytes {@code runtime_queue/max_outstanding_bytes}: bytes under way.
 * @param selection           {@code policy}, and behind it the rules there are by default.
 * @param tcp                 {@code transports/tcp}.
 * @param gds                 {@code transports/gds}.
 * @param uring               whether {@code transports/io_uring/enable} is set.
 * @param shm                 {@code transports/shm}.
 * @param warnings            keys that have no effect, in words.
 */
public record TentConfig(int maxFailovers, long maxOutstanding, long maxOutstandingBytes, Selection selection,
                         TcpConfig tcp, GdsConfig gds, boolean uring, Shm shm, List<String> warnings) {
    /** The variable that names the configuration. */
    public static final String VARIABLE = "MC_TENT_CONF";

    private static final int DEFAULT_FAILOVERS = 3;
    private static final long DEFAULT_OUTSTANDING = 1024;
    private static final long DEFAULT_OUTSTANDING_BYTES = 1L << 30;
    private static final int DEFAULT_BATCH = 32;

    /** What holds where nothing is said. */
    public static final TentConfig DEFAULT = new TentConfig(DEFAULT_FAILOVERS, DEFAULT_OUTSTANDING,
        DEFAULT_OUTSTANDING_BYTES, Selection.DEFAULT, TcpConfig.DEFAULT, defaultGds(), true, new Shm(false, ""),
        List.of());

    /**
     * Shared memory.
     *
     * @param enable    whether it is used.
     * @param mountPath folder of the files; empty for the system's.
     */
    public record Shm(boolean enable, String mountPath) {
    }

    /**
     * Copies.
     *
     * @param maxFailovers        further transports a slice.
     * @param maxOutstanding      slices under way.
     * @param maxOutstandingBytes bytes under way.
     * @param selection           the table.
     * @param tcp                 the TCP transport.
     * @param gds                 GPUDirect Storage.
     * @param uring               whether io_uring is used.
     * @param shm                 shared memory.
     * @param warnings            keys that have no effect.
     */
    public TentConfig {
        warnings = List.copyOf(warnings);
    }

    private static GdsConfig defaultGds() {
        final GdsConfig known = GdsConfig.DEFAULT;
        return new GdsConfig(false, DEFAULT_BATCH, known.mode(), known.threads(), known.batches(),
            known.requireDirect(), known.allowCompat(), known.cancelWaitMs(), known.hostMemory());
    }

    /**
     * Reads what the variable says.
     *
     * @param environment where it is looked for.
     * @return the settings; empty when the variable is not set.
     * @throws IllegalArgumentException when the file cannot be read, is no JSON, or has a wrong value.
     */
    public static Optional<TentConfig> from(final Environment environment) {
        return from(environment, DEFAULT);
    }

    /**
     * Reads what the variable says, for somebody who has settings of his own.
     *
     * @param environment where it is looked for.
     * @param unsaid      what holds where the variable says nothing.
     * @return the settings; empty when the variable is not set.
     * @throws IllegalArgumentException when the file cannot be read, is no JSON, or has a wrong value.
     */
    public static Optional<TentConfig> from(final Environment environment, final TentConfig unsaid) {
        return environment.get(VARIABLE).map(value -> TentConfigReader.readValueOf(value, unsaid));
    }

    /**
     * Reads JSON.
     *
     * @param json the text.
     * @return the settings.
     * @throws IllegalArgumentException when it is no JSON, or has a wrong value.
     */
    public static TentConfig parse(final String json) {
        return TentConfigReader.read(json, VARIABLE, DEFAULT);
    }

    /**
     * The same with another TCP transport.
     *
     * @param other its settings.
     * @return the settings.
     */
    public TentConfig withTcp(final TcpConfig other) {
        return new TentConfig(maxFailovers, maxOutstanding, maxOutstandingBytes, selection, other, gds, uring, shm,
            warnings);
    }

    /**
     * The same with other shared memory.
     *
     * @param other its settings.
     * @return the settings.
     */
    public TentConfig withShm(final Shm other) {
        return new TentConfig(maxFailovers, maxOutstanding, maxOutstandingBytes, selection, tcp, gds, uring, other,
            warnings);
    }

    /**
     * The same with io_uring or without.
     *
     * @param use whether it is used.
     * @return the settings.
     */
    public TentConfig withUring(final boolean use) {
        return new TentConfig(maxFailovers, maxOutstanding, maxOutstandingBytes, selection, tcp, gds, use, shm,
            warnings);
    }

    /**
     * The engine's part of it.
     *
     * @param base what is not configured here.
     * @return the engine's configuration.
     */
    public TransferConfig transfer(final TransferConfig base) {
        return new TransferConfig(base.sliceBytes(), base.closeTimeoutMs(), maxOutstanding, maxOutstandingBytes,
            maxFailovers, selection);
    }
}
