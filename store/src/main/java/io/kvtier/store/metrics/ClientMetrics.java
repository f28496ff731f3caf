package io.kvtier.store.metrics;

import io.kvtier.store.StoreStats;
import io.kvtier.store.metrics.Families.Distribution;
import java.io.IOException;
import java.io.OutputStream;
import java.util.stream.DoubleStream;

/**
 * What a client shows of the shared disk. The names with {@code mooncake_} are those of the followed design.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class ClientMetrics {
    /** What HTTP says that the text is. */
    public static final String CONTENT_TYPE = Families.CONTENT_TYPE;

    private ClientMetrics() {
    }

    /**
     * Writes the metrics in Prometheus' text format 0.0.4, in UTF-8; families are sorted by name.
     *
     * @param stats of the client's store.
     * @param out   gets the text, and is not closed.
     * @throws IOException when it cannot be written to.
     */
    public static void write(final StoreStats.SharedDiskStats stats, final OutputStream out) throws IOException {
        final Families families = new Families();
        reads(families, stats.reads());
        writes(families, stats.writes());
        families.write(out);
    }

    private static void reads(final Families families, final StoreStats.SharedReads reads) {
        families.counter("mooncake_client_distributed_disk_reads_total", reads.reads(),
            "Reads of values, or of parts of them, from the shared disk that ended well.");
        final StoreStats.Times times = reads.times();
        families.histogram("mooncake_client_distributed_disk_read_latency_seconds",
            "Time of these reads, until their bytes were taken.", new Distribution(
                DoubleStream.concat(times.bounds().stream().mapToDouble(Double::doubleValue),
                    DoubleStream.of(Double.POSITIVE_INFINITY)).toArray(),
                times.counts().stream().mapToLong(Long::longValue).toArray(), times.seconds()));
        families.counter("kvtier_client_distributed_disk_read_bytes_total", reads.readBytes(), "Bytes of these reads.");
        families.counter("kvtier_client_distributed_disk_read_failures_total", reads.failures(),
            "Reads from the shared disk that did not end well; another replica was read, if there was one.");
        families.counter("kvtier_client_distributed_disk_files_replaced_total", reads.replaced(),
            "How often the path of a shared file was found to lead to another one.");
        families.gauge("kvtier_client_distributed_disk_open_files", reads.openFiles(), "Shared files that are open.");
    }

    private static void writes(final Families families, final StoreStats.SharedWrites writes) {
        families.counter("mooncake_dsb_batch_offload_pages_written", writes.pages(),
            "Pages of values that are durable in the shared disk and that the master has taken.");
        families.counter("mooncake_dsb_batch_offload_page_leaks_prevented", writes.leaksPrevented(),
            "Values whose pages were given back, since they could not be written.");
        families.counter("kvtier_client_distributed_disk_values_written_total", writes.values(),
            "Values that are durable in the shared disk and that the master has taken.");
        families.counter("kvtier_client_distributed_disk_written_bytes_total", writes.bytes(), "Bytes of these.");
        families.counter("kvtier_client_distributed_disk_write_failures_total", writes.failures(),
            "Values that could not be written to the shared disk.");
    }
}
