package io.kvtier.store.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.ManualClock;
import io.kvtier.kit.PrometheusText;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.StoreException;
import io.kvtier.store.master.EmbeddedMaster;
import io.kvtier.store.master.state.Effects;
import io.kvtier.store.master.state.MasterSettings;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.SegmentAddress;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What a master that has everything shows, and that the documentation tells it by the same names. */
@ExtendWith(LeakCheck.class)
class MasterMetricsTest {
    private static final Path DOCUMENT = Path.of(System.getProperty("kvtier.root"), "store", "OPERATIONS.md");
    private static final Pattern REQUESTS = Pattern.compile("master_(batch_)?(" + Stream.of(RequestKind.values())
        .map(RequestKind::word).collect(Collectors.joining("|")) + ")_(requests_total|failures_total|items_total"
        + "|failed_items_total|partial_successes_total)|kvtier_master_request_seconds");
    private static final UUID CLIENT = new UUID(1, 2);
    private static final ObjectKey KEY = ObjectKey.of("blue", "k");
    private static final long QUOTA = 1 << 20;

    private final ManualClock clock = new ManualClock(1000);
    private EmbeddedMaster master;
    private MasterMetrics metrics;

    @BeforeEach
    void open() {
        master = new EmbeddedMaster(new MasterSettings(new MasterSettings.Eviction(1, 0, 1, 0, true), 1000, true, 50,
            MasterSettings.Liveness.FOREVER, MasterSettings.Pins.DEFAULT, MasterSettings.Tasks.DEFAULT, true,
            MasterSettings.Strategy.RANDOM), clock, new Effects() {
                @Override
                public void workQueued(final UUID clientId, final WorkKind kind) {
                    // Nobody works here.
                }

                @Override
                public void spaceFreed() {
                    // Nobody waits here.
                }
            });
        for (final Medium medium : Medium.values()) {
            master.apply(new SegmentCommand.Mount(CLIENT, new SegmentCommand.SegmentSpec("s-" + medium, medium,
                4 * QUOTA, 4096, SegmentAddress.local(new UUID(3, medium.ordinal())), true)));
        }
        master.apply(new AdminCommand.SetQuota("blue", QUOTA));
        metrics = new MasterMetrics(master, new RequestMetrics(),
            new MasterMetrics.Facts("c \"1\"\n", "1", 2500), () -> 3);
    }

    @AfterEach
    void close() {
        master.close();
    }

    private Map<String, PrometheusText.Family> read() throws IOException {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        metrics.write(out);
        return PrometheusText.parse(out.toString(StandardCharsets.UTF_8));
    }

    /** The table is by subject, the text by name. */
    @Test
    void shouldBeDocumentedByNameTypeAndMeaning() throws IOException {
        final String document = Files.readString(DOCUMENT);
        final int from = document.indexOf("## Metrics");
        final List<String> rows = document.substring(from, document.indexOf("Requests are counted", from)).lines()
            .filter(line -> line.startsWith("| ")).skip(1).sorted().toList();

        assertEquals(rows, read().entrySet().stream().filter(entry -> !REQUESTS.matcher(entry.getKey()).matches())
            .map(entry -> "| `" + entry.getKey() + "` | " + entry.getValue().type() + " | " + entry.getValue().help()
                + " |").sorted().toList());
    }

    @Test
    void shouldShowWhatDoesNotChange() throws IOException {
        final Map<String, PrometheusText.Family> read = read();

        assertEquals(Map.of(Map.of("cluster_id", "c \"1\"\n", "version", "1"), 1.0),
            read.get("kvtier_master_info").samples());
        assertEquals(2.5, read.get("process_start_time_seconds").value());
        assertEquals(3, read.get("kvtier_master_connections").value());
        assertEquals("text/plain; version=0.0.4; charset=utf-8", MasterMetrics.contentType());
    }

    @Test
    void shouldShowSegmentsAndTenantsByName() throws IOException {
        final PutStartReply.Started started = (PutStartReply.Started) master.apply(
            new ObjectCommand.PutStart(CLIENT, 1, KEY, 5000, PutOptions.DEFAULT, false));
        master.apply(new ObjectCommand.PutEnd(CLIENT, KEY, started.version(), ObjectCommand.Scope.ALL, false, 0));
        ErrorCode code = null;
        try {
            master.apply(new ObjectCommand.PutStart(CLIENT, 2, ObjectKey.of("blue", "l"), 2 * QUOTA,
                PutOptions.DEFAULT, false));
        } catch (final StoreException e) {
            code = e.code();
        }
        assertEquals(ErrorCode.TENANT_QUOTA_EXCEEDED, code);

        final Map<String, PrometheusText.Family> read = read();
        assertEquals(8192, read.get("segment_allocated_bytes").value("segment", "s-MEMORY"));
        assertEquals(4 * QUOTA, read.get("segment_total_capacity_bytes").value("segment", "s-MEMORY"));
        assertEquals(0, read.get("nof_segment_allocated_bytes").value("segment", "s-NOF"));
        assertEquals(4 * QUOTA, read.get("nof_segment_total_capacity_bytes").value("segment", "s-NOF"));
        assertEquals(QUOTA, read.get("kvtier_tenant_quota_bytes").value("tenant", "blue"));
        assertEquals(5000, read.get("kvtier_tenant_charged_bytes").value("tenant", "blue"));
        assertEquals(1, read.get("kvtier_tenant_objects").value("tenant", "blue"));
        assertEquals(1, read.get("mooncake_tenant_quota_reject_total").value("tenant", "blue"));
        assertTrue(metrics.summary().contains(" 1 keys, memory 8192 of " + 4 * QUOTA + " bytes"), metrics.summary());
    }
}
