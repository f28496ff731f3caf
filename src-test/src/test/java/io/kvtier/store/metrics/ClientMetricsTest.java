package io.kvtier.store.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.PrometheusText;
import io.kvtier.store.StoreStats;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What a client shows of the shared disk, by its names. */
class ClientMetricsTest {
    private static Map<String, PrometheusText.Family> shown(final StoreStats.SharedDiskStats stats)
        throws IOException {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        ClientMetrics.write(stats, out);
        return PrometheusText.parse(out.toString(StandardCharsets.UTF_8));
    }

    @Test
    void shouldShowEachFigureUnderItsName() throws IOException {
        final Map<String, PrometheusText.Family> families = shown(new StoreStats.SharedDiskStats(
            new StoreStats.SharedReads(7, 8000, 2, 3, 4, new StoreStats.Times(List.of(0.001, 0.1), List.of(4L, 2L, 1L),
                0.75)), new StoreStats.SharedWrites(5, 60, 70_000, 9, 8)));

        assertEquals(7, families.get("mooncake_client_distributed_disk_reads_total").value());
        assertEquals("counter", families.get("mooncake_client_distributed_disk_reads_total").type());
        assertEquals(60, families.get("mooncake_dsb_batch_offload_pages_written").value());
        assertEquals(8, families.get("mooncake_dsb_batch_offload_page_leaks_prevented").value());
        assertEquals(8000, families.get("kvtier_client_distributed_disk_read_bytes_total").value());
        assertEquals(2, families.get("kvtier_client_distributed_disk_read_failures_total").value());
        assertEquals(3, families.get("kvtier_client_distributed_disk_files_replaced_total").value());
        assertEquals(4, families.get("kvtier_client_distributed_disk_open_files").value());
        assertEquals(5, families.get("kvtier_client_distributed_disk_values_written_total").value());
        assertEquals(70_000, families.get("kvtier_client_distributed_disk_written_bytes_total").value());
        assertEquals(9, families.get("kvtier_client_distributed_disk_write_failures_total").value());
        final PrometheusText.Family times = families.get("mooncake_client_distributed_disk_read_latency_seconds");
        assertEquals("histogram", times.type());
        assertEquals(4, times.samples().get(Map.of("__name__", "_bucket", "le", "0.001")));
        assertEquals(6, times.samples().get(Map.of("__name__", "_bucket", "le", "0.1")));
        assertEquals(7, times.samples().get(Map.of("__name__", "_bucket", "le", "+Inf")));
        assertEquals(0.75, times.samples().get(Map.of("__name__", "_sum")));
        assertEquals(7, times.samples().get(Map.of("__name__", "_count")));
        families.forEach((family, its) -> assertTrue(its.help().endsWith("."), family));
    }

    @Test
    void shouldShowZerosOfAClientWithoutASharedDisk() throws IOException {
        final Map<String, PrometheusText.Family> families = shown(StoreStats.SharedDiskStats.NONE);
        assertEquals(0, families.get("mooncake_client_distributed_disk_reads_total").value());
        assertEquals(11, families.size());
    }
}
