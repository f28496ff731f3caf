package io.kvtier.store.config;

import io.kvtier.transport.Selection;
import io.kvtier.transport.SelectionRule;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Reads a {@link TentConfig}. */
final class TentConfigReader {
    private static final long MAX_OUTSTANDING = (1L << 19) - 1;
    private static final long MAX_OUTSTANDING_BYTES = (1L << 44) - 1;
    private static final int MAX_FAILOVERS = 16;
    private static final int MAX_RETRIES = 1000;
    private static final long MAX_DELAY_MS = 3_600_000;
    private static final int MAX_TASKS = 1024;
    /** Entries of a batch that cuFile documents. */
    private static final int MAX_BATCH = 256;

    private final Settings settings;
    private final List<String> warnings = new ArrayList<>();
    private final String source;

    private TentConfigReader(final Settings settings, final String source) {
        this.settings = settings;
        this.source = source;
    }

    /** Inline JSON begins with a brace, which no absolute path does; anything else is a file. */
    static TentConfig readValueOf(final String value) {
        if (value.startsWith("{")) {
            return read(value, TentConfig.VARIABLE);
        }
        try {
            return read(Files.readString(Path.of(value), StandardCharsets.UTF_8),
                TentConfig.VARIABLE + " (" + value + ")");
        } catch (final IOException e) {
            throw new IllegalArgumentException(TentConfig.VARIABLE + " is " + value + ": that file cannot be read ("
                + e + "); give a file, or JSON that begins with '{'", e);
        }
    }

    static TentConfig read(final String json, final String source) {
        final Settings settings = new Settings(JsonDocument.parse(json, source), source);
        return new TentConfigReader(settings, source).read();
    }

    private TentConfig read() {
        final int failovers = (int) settings.number("max_failover_attempts", 3, 0, MAX_FAILOVERS);
        final long outstanding = settings.number("runtime_queue/max_outstanding_owners", 1024, 1, MAX_OUTSTANDING);
        final long bytes =
            settings.number("runtime_queue/max_outstanding_bytes", 1L << 30, 1, MAX_OUTSTANDING_BYTES);
        final TentConfig.Tcp tcp = tcp();
        final TentConfig.Gds gds = new TentConfig.Gds(settings.flag("transports/gds/enable", false),
            (int) settings.number("transports/gds/io_batch_depth", 32, 1, MAX_BATCH),
            settings.flag("transports/gds/require_direct", false));
        final boolean uring = settings.flag("transports/io_uring/enable", true);
        final TentConfig.Shm shm = new TentConfig.Shm(settings.flag("transports/shm/enable", false),
            settings.text("transports/shm/cxl_mount_path", ""));
        final Selection selection = selection();
        settings.unasked().forEach(key -> warnings.add(source + ": '" + key + "' has no effect here; is it misspelt, "
            + "or of a transport that does not exist here?"));
        return new TentConfig(failovers, outstanding, bytes, selection, tcp, gds, uring, shm, warnings);
    }

    private TentConfig.Tcp tcp() {
        final long base = settings.number("transports/tcp/retry_base_delay_ms", 100, 0, MAX_DELAY_MS);
        final long most = settings.number("transports/tcp/retry_max_delay_ms", 2000, 0, MAX_DELAY_MS);
        if (most < base) {
            throw settings.wrong("transports/tcp/retry_max_delay_ms", most,
                "at least transports/tcp/retry_base_delay_ms, which is " + base);
        }
        return new TentConfig.Tcp(settings.flag("transports/tcp/enable", true),
            (int) settings.number("transports/tcp/max_retry_count", 3, 0, MAX_RETRIES), base, most,
            (int) settings.number("transports/tcp/max_concurrent_tasks", 16, 1, MAX_TASKS));
    }

    /** The policies first; the default rules behind them serve what no policy speaks of. */
    private Selection selection() {
        final List<SelectionRule> rules = new ArrayList<>();
        final List<?> policies = settings.list("policy");
        for (int i = 0; i < policies.size(); i++) {
            if (!(policies.get(i) instanceof Map<?, ?> policy)) {
                throw settings.wrong("policy[" + i + "]", policies.get(i), "an object");
            }
            rules.addAll(new PolicyReader(policy, source + ": policy[" + i + "]", i, warnings).read());
        }
        rules.addAll(Selection.DEFAULT.rules());
        return new Selection(rules);
    }
}
