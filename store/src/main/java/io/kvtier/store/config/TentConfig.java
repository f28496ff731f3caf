package io.kvtier.store.config;

import io.kvtier.transport.Selection;
import io.kvtier.transport.TransferConfig;
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
public record TentConfig(int maxFailovers, long maxOutstanding, long maxOutstandingBytes, Selection selection, Tcp tcp,
                         Gds gds, boolean uring, Shm shm, List<String> warnings) {
    /** The variable that names the configuration. */
    public static final String VARIABLE = "MC_TENT_CONF";

    /**
     * The TCP transport.
     *
     * @param enable             whether it is used.
     * @param maxRetries         attempts after the first failed.
     * @param retryBaseDelayMs   milliseconds before the first of them; doubled with each.
     * @param retryMaxDelayMs    milliseconds that the delay grows to.
     * @param maxConcurrentTasks requests under way at once.
     */
    public record Tcp(boolean enable, int maxRetries, long retryBaseDelayMs, long retryMaxDelayMs,
                      int maxConcurrentTasks) {
    }

    /**
     * GPUDirect Storage.
     *
     * @param enable        whether it is used.
     * @param batchDepth    entries of a batch.
     * @param requireDirect whether compatibility mode is refused.
     */
    public record Gds(boolean enable, int batchDepth, boolean requireDirect) {
    }

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

    /**
     * Reads what the variable says.
     *
     * @param environment where it is looked for.
     * @return the settings; empty when the variable is not set.
     * @throws IllegalArgumentException when the file cannot be read, is no JSON, or has a wrong value.
     */
    public static Optional<TentConfig> from(final Environment environment) {
        return environment.get(VARIABLE).map(TentConfigReader::readValueOf);
    }

    /**
     * Reads JSON.
     *
     * @param json the text.
     * @return the settings.
     * @throws IllegalArgumentException when it is no JSON, or has a wrong value.
     */
    public static TentConfig parse(final String json) {
        return TentConfigReader.read(json, VARIABLE);
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
