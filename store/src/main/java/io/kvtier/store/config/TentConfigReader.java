package io.kvtier.store.config;

import io.kvtier.transport.Selection;
import io.kvtier.transport.SelectionRule;
import io.kvtier.transport.gds.GdsConfig;
import io.kvtier.transport.tcp.TcpConfig;
import io.kvtier.transport.tcp.TcpRetry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
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
    private static final int MAX_THREADS = 64;
    private static final int MAX_BATCHES = 16;
    private static final long MAX_CANCEL_WAIT_MS = 60_000;

    private final Settings settings;
    private final List<String> warnings = new ArrayList<>();
    private final String source;
    /** What holds where nothing is said. */
    private final TentConfig unsaid;

    private TentConfigReader(final Settings settings, final String source, final TentConfig unsaid) {
        this.settings = settings;
        this.source = source;
        this.unsaid = unsaid;
    }

    /** Inline JSON begins with a brace, which no absolute path does; anything else is a file. */
    static TentConfig readValueOf(final String value, final TentConfig unsaid) {
        if (value.startsWith("{")) {
            return read(value, TentConfig.VARIABLE, unsaid);
        }
        final String json;
        try {
            json = Files.readString(Path.of(value), StandardCharsets.UTF_8);
        } catch (final IOException | InvalidPathException e) {
            throw new IllegalArgumentException(TentConfig.VARIABLE + " is " + value + ": that file cannot be read ("
                + e + "); give a file, or JSON that begins with '{'", e);
        }
        return read(json, TentConfig.VARIABLE + " (" + value + ")", unsaid);
    }

    static TentConfig read(final String json, final String source, final TentConfig unsaid) {
        final Settings settings = new Settings(JsonDocument.parse(json, source), source);
        return new TentConfigReader(settings, source, unsaid).read();
    }

    private TentConfig read() {
        final int failovers = (int) settings.number("max_failover_attempts", unsaid.maxFailovers(), 0, MAX_FAILOVERS);
        final long outstanding =
            settings.number("runtime_queue/max_outstanding_owners", unsaid.maxOutstanding(), 1, MAX_OUTSTANDING);
        final long bytes = settings.number("runtime_queue/max_outstanding_bytes", unsaid.maxOutstandingBytes(), 1,
            MAX_OUTSTANDING_BYTES);
        final TcpConfig tcp = tcp(unsaid.tcp());
        final GdsConfig gds = gds(unsaid.gds());
        final boolean uring = settings.flag("transports/io_uring/enable", unsaid.uring());
        final TentConfig.Shm shm = shm(unsaid.shm());
        final Selection selection = selection();
        settings.unasked().forEach(key -> warnings.add(source + ": '" + key + "' has no effect here; is it misspelt, "
            + "or of a transport that does not exist here?"));
        return new TentConfig(failovers, outstanding, bytes, selection, tcp, gds, uring, shm, warnings);
    }

    private TcpConfig tcp(final TcpConfig known) {
        final TcpRetry retry = known.retry();
        final long base =
            settings.number("transports/tcp/retry_base_delay_ms", retry.retryBaseDelayMs(), 0, MAX_DELAY_MS);
        // Who asks for a longer first delay alone has said nothing of the longest.
        final long most = settings.number("transports/tcp/retry_max_delay_ms",
            Math.max(base, retry.retryMaxDelayMs()), 0, MAX_DELAY_MS);
        if (most < base) {
            throw settings.wrong("transports/tcp/retry_max_delay_ms", most,
                "at least transports/tcp/retry_base_delay_ms, which is " + base);
        }
        final int retries =
            (int) settings.number("transports/tcp/max_retry_count", retry.maxRetryCount(), 0, MAX_RETRIES);
        return known.withEnable(settings.flag("transports/tcp/enable", known.enable()))
            .withWindow((int) settings.number("transports/tcp/max_concurrent_tasks", known.maxConcurrentTasks(), 1,
                MAX_TASKS), known.chunkBytes())
            .withRetry(new TcpRetry(retries, base, most));
    }

    private GdsConfig gds(final GdsConfig known) {
        final String mode = settings.text("transports/gds/mode", known.mode().name().toLowerCase(Locale.ROOT));
        if (!mode.equals("batch") && !mode.equals("sync")) {
            throw settings.wrong("transports/gds/mode", mode, "batch or sync");
        }
        return new GdsConfig(settings.flag("transports/gds/enable", known.enabled()),
            (int) settings.number("transports/gds/io_batch_depth", known.ioBatchDepth(), 1, MAX_BATCH),
            mode.equals("batch") ? GdsConfig.Mode.BATCH : GdsConfig.Mode.SYNC,
            (int) settings.number("transports/gds/threads", known.threads(), 0, MAX_THREADS),
            (int) settings.number("transports/gds/batches", known.batches(), 1, MAX_BATCHES),
            settings.flag("transports/gds/require_direct", known.requireDirect()),
            settings.flag("transports/gds/allow_compat", known.allowCompat()),
            settings.number("transports/gds/cancel_wait_ms", known.cancelWaitMs(), 0, MAX_CANCEL_WAIT_MS),
            settings.flag("transports/gds/host_memory", known.hostMemory()));
    }

    private TentConfig.Shm shm(final TentConfig.Shm known) {
        final String path = settings.text("transports/shm/cxl_mount_path", known.mountPath());
        if (!path.isEmpty() && (path.indexOf(0) >= 0 || !path.startsWith("/"))) {
            throw settings.wrong("transports/shm/cxl_mount_path", path, "the absolute path of a folder");
        }
        return new TentConfig.Shm(settings.flag("transports/shm/enable", known.enable()), path);
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
        rules.addAll(unsaid.selection().rules());
        return new Selection(rules);
    }
}
