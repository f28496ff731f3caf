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
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.master.EmbeddedMaster;
import io.kvtier.store.master.state.Effects;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PageCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.store.snapshot.SnapshotCounts;
import io.kvtier.store.snapshot.SnapshotService;
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
            MasterSettings.Strategy.RANDOM, new MasterSettings.Pages(new PageLayout("/mnt/m", 2, 4096, 12_288), "c", 1,
                0, false, new MasterSettings.Promotion(false, 2, 10))), clock, new Effects() {
                @Override
                public void workQueued(final UUID clientId, final WorkKind kind) {
                    // Nobody works here.
                }

                @Override
                public void spaceFreed() {
                    // Nobody waits here.
                }
            });
        for (final Medium medium : List.of(Medium.MEMORY, Medium.NOF)) {
            master.apply(new SegmentCommand.Mount(CLIENT, new SegmentCommand.SegmentSpec("s-" + medium, medium,
                4 * QUOTA, 4096, SegmentAddress.local(new UUID(3, medium.ordinal())), true)));
        }
        master.apply(new GdsCommand.RegisterGdsStorage(CLIENT, new GdsCommand.GdsStorageSpec(new UUID(5, 6), 1, "",
            2 * QUOTA, 2 * QUOTA, QUOTA)));
        master.apply(new AdminCommand.SetQuota("blue", QUOTA));
        metrics = new MasterMetrics(master, new RequestMetrics(),
            new MasterMetrics.Facts("c \"1\"\n", "1", 2500), () -> 3, SNAPSHOTS);
    }

    @AfterEach
    void close() {
        master.close();
    }

    private static final SnapshotService SNAPSHOTS = new SnapshotService() {
        @Override
        public SnapshotCounts take() {
            throw new AssertionError("nobody asked for one");
        }

        @Override
        public SnapshotCounts counts() {
            return new SnapshotCounts(101, 102, "an id", 103_500, 104, 105, 106, 107_000_000);
        }

        @Override
        public String place() {
            return "nowhere";
        }
    };

    /** A master with nothing but counters, all of them different. */
    private static final class Counted implements Master {
        private static final MasterStats STATS = new MasterStats(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
            17, 18, 19, 20, 21, 22, 23, 24, 25, new MasterStats.Gets(26, 27, 28, 29, 30, 31, 32, 54, 55, 167, 168),
            new MasterStats.EvictionRuns(33, 34, 35), new MasterStats.EvictionRuns(36, 37, 38),
            new MasterStats.Allocations(39, 40, 49),
            new MasterStats.Promoted(41, 42, 43, 44, 45, new MasterStats.Rejected(50, 51, 52)),
            new MasterStats.Probes(46, 47, 48, 53),
            new MasterStats.GdsTotals(56, 57, 58, 59, new GdsCommand.GdsCounts(60, 61, 62, 63, 64, 65, 66),
                new MasterStats.GdsTold(new GdsCommand.GdsWork(67, 68, 69, 70, 71, 72, 73, 74, 75, 76), 77, 78, 79)),
            new MasterStats.PageTotals(170, 171, 172, 173, 174, 175, 176, 177, 178, 179, 180,
                new MasterStats.Hot(181, 182, 183)));

        @Override
        @SuppressWarnings("unchecked") // Everything else that is asked for is a list.
        public <R> R apply(final Command<R> command) {
            return (R) (command instanceof AdminCommand.Statistics ? STATS : List.of());
        }
    }

    /** A client may say that a value on its disk is as large as a number can be, and somebody may read it twice. */
    @Test
    void shouldShowACounterWhoseSumIsBeyondAllNumbers() throws IOException {
        master.apply(new DiskCommand.MountDisk(CLIENT, "127.0.0.1:1", QUOTA));
        assertEquals(List.of(true), master.apply(new DiskCommand.AdoptDisk(CLIENT,
            List.of(new DiskCommand.StoredObject(KEY, 1, Long.MAX_VALUE, 0)))));
        for (int i = 0; i < 2; i++) {
            assertEquals(1, master.apply(new ObjectCommand.ReadStart(KEY, false)).replicas().size());
        }
        assertEquals(0x1p63, read().get("file_cache_hit_bytes_total").value(), "from 0 again behind it");
    }

    /** Figures by the order of the counters, sums and the reads that were found written out. */
    @Test
    void shouldShowEveryFigureUnderItsName() throws IOException {
        metrics = new MasterMetrics(new Counted(), new RequestMetrics(), new MasterMetrics.Facts("c", "1", 0), () -> 0,
            null);
        final Map<String, PrometheusText.Family> read = read();
        final String figures = """
            master_key_count 1, master_total_capacity_bytes 2, master_allocated_bytes 3, mem_cache_nums_ 4,
            kvtier_held_replicas 5, master_evicted_key_count_mem 6, kvtier_evictions_without_copy_total 7,
            file_cache_nums_ 8, kvtier_disk_evictions_total 9, kvtier_offloads_total 10,
            kvtier_offload_failures_total 11, kvtier_offloads_pending 12, master_promotion_completed_total 13,
            master_total_nof_capacity_bytes 14, master_nof_allocated_bytes 15, master_evicted_key_count_nof 16,
            master_evicted_key_count 22, master_total_file_capacity_bytes 17, master_active_clients 18,
            kvtier_pending_writes 19, master_put_start_discard_cnt 20, master_put_start_release_cnt 21,
            master_promotion_in_flight 22, master_soft_pin_key_count 23, kvtier_groups 24,
            master_allocated_file_size_bytes 25, total_get_nums_ 26, mem_cache_hit_nums_ 27,
            mem_cache_hit_bytes_total 28, kvtier_nof_hits_total 29, kvtier_nof_hit_bytes_total 30,
            file_cache_hit_nums_ 31, file_cache_hit_bytes_total 32, valid_get_nums_ 308,
            kvtier_gds_hits_total 54, kvtier_gds_hit_bytes_total 55, kvtier_gds_storages 56,
            kvtier_gds_capacity_bytes 57, kvtier_gds_allocated_bytes 58, kvtier_gds_replicas 59,
            kvtier_gds_puts_total 60, kvtier_gds_only_puts_total 61, kvtier_gds_adopted_total 62,
            kvtier_gds_refused_total 63, kvtier_gds_evictions_total 64, kvtier_gds_evicted_bytes_total 65,
            kvtier_distributed_hits_total 167, kvtier_distributed_hit_bytes_total 168,
            kvtier_distributed_capacity_bytes 170, kvtier_distributed_allocated_bytes 171,
            kvtier_distributed_replicas 172, kvtier_distributed_writes 173,
            mooncake_master_distributed_page_allocations_total 174, mooncake_master_distributed_page_frees_total 175,
            mooncake_master_distributed_page_allocation_failures_total 176, kvtier_distributed_evictions_total 177,
            kvtier_distributed_evicted_bytes_total 178, kvtier_distributed_reaped_total 179,
            kvtier_distributed_stale_total 180, kvtier_distributed_hot_values_waiting 181,
            kvtier_distributed_hot_values_total 182, kvtier_distributed_hot_values_rejected_total 183,
            kvtier_gds_settled_total 66, kvtier_gds_stored_total 67, kvtier_gds_only_stored_total 68,
            kvtier_gds_written_bytes_total 69, kvtier_gds_reads_total 70, kvtier_gds_read_bytes_total 71,
            kvtier_gds_no_room_total 72, kvtier_gds_put_refusals_total 73, kvtier_gds_write_failures_total 74,
            kvtier_gds_read_failures_total 75, kvtier_gds_stale_reads_total 76, kvtier_gds_values 77,
            kvtier_gds_uncertain_extents 78, kvtier_gds_compat_mode_storages 79,
            master_attempted_evictions_mem 33, master_successful_evictions_mem 34, master_evicted_size_bytes_mem 35,
            master_attempted_evictions_nof 36, master_successful_evictions_nof 37, master_evicted_size_bytes_nof 38,
            master_attempted_evictions_total 69, master_successful_evictions_total 71, master_evicted_size_bytes 73,
            master_put_start_alloc_failures_total 39, master_put_start_partial_allocations_total 40,
            master_promotion_admitted_total 41, master_promotion_completed_bytes_total 42,
            master_promotion_failed_total 43, master_promotion_cancelled_total 44, master_promotion_expired_total 45,
            master_nof_heartbeat_success_total 46, master_nof_heartbeat_failure_total 47,
            master_nof_segments_unmounted_by_heartbeat_total 48, master_put_start_discarded_staging_size 49,
            master_promotion_rejected_watermark_total 50, kvtier_promotion_rejected_quota_total 51,
            kvtier_promotion_rejected_busy_total 52, master_nof_heartbeat_timeout_total 53""";
        for (final String figure : figures.split(",\\s+")) {
            final String[] parts = figure.split(" ");
            assertEquals(Double.parseDouble(parts[1]), read.get(parts[0]).value(), figure);
        }
    }

    @Test
    void shouldShowWhatHasBecomeOfSnapshots() throws IOException {
        final Map<String, PrometheusText.Family> read = read();

        final String figures = """
            master_snapshot_success 101, master_snapshot_fail 102, master_snapshot_duration_ms 104,
            kvtier_snapshot_last_success_time_seconds 103.5, kvtier_snapshot_last_bytes 105,
            kvtier_snapshot_last_objects 106, kvtier_snapshot_longest_slice_seconds 0.107""";
        for (final String figure : figures.split(",\\s+")) {
            final String[] parts = figure.split(" ");
            assertEquals(Double.parseDouble(parts[1]), read.get(parts[0]).value(), figure);
        }
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

    /** Two files of three pages each, and a value of two pages and a byte. */
    @Test
    void shouldShowThePagesOfEachSharedFile() throws IOException {
        final PageLayout layout = new PageLayout("/mnt/m", 2, 4096, 12_288);
        master.apply(new PageCommand.MountDistributedDisk(CLIENT, layout, null, false));
        final PutStartReply.Started started = (PutStartReply.Started) master.apply(
            new ObjectCommand.PutStart(CLIENT, 1, KEY, 8193, PutOptions.DEFAULT, false));
        master.apply(new ObjectCommand.PutEnd(CLIENT, KEY, started.version(), ObjectCommand.Scope.ALL, false, 0));
        assertEquals(PageCommand.PageOutcome.ALLOCATED, master.apply(new PageCommand.AllocateDistributedPage(CLIENT,
            new PageCommand.PageRequest(KEY, started.version(), 8193, 0))).outcome());

        final Map<String, PrometheusText.Family> read = read();
        // XXH64 of "k" is odd, so that its home is the second file.
        assertEquals(3, read.get("mooncake_master_distributed_pages_allocated").value("bucket", "01"));
        assertEquals(0, read.get("mooncake_master_distributed_pages_free").value("bucket", "01"));
        assertEquals(0, read.get("mooncake_master_distributed_pages_allocated").value("bucket", "00"));
        assertEquals(3, read.get("mooncake_master_distributed_pages_free").value("bucket", "00"));
        assertEquals(1, read.get("mooncake_master_distributed_page_allocations_total").value());
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
        assertEquals(2 * QUOTA,
            read.get("kvtier_gds_client_capacity_bytes").value("client", CLIENT.toString()));
        assertEquals(QUOTA, read.get("kvtier_tenant_quota_bytes").value("tenant", "blue"));
        assertEquals(5000, read.get("kvtier_tenant_charged_bytes").value("tenant", "blue"));
        assertEquals(1, read.get("kvtier_tenant_objects").value("tenant", "blue"));
        assertEquals(1, read.get("mooncake_tenant_quota_reject_total").value("tenant", "blue"));
        assertTrue(metrics.summary().contains(" 1 keys, memory 8192 of " + 4 * QUOTA + " bytes"), metrics.summary());
    }
}
