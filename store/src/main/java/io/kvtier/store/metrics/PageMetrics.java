package io.kvtier.store.metrics;

import io.kvtier.store.protocol.MasterStats.PageTotals;
import io.kvtier.store.protocol.PageCommand.BucketInfo;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** What a master knows of the files that all clients mount. The first five names are those of the followed design. */
final class PageMetrics {
    private static final String LABEL = "bucket";

    private PageMetrics() {
    }

    static void collectTotals(final Families families, final PageTotals pages) {
        families.counter("mooncake_master_distributed_page_allocations_total", pages.allocations(),
            "Runs of pages that were given out.");
        families.counter("mooncake_master_distributed_page_frees_total", pages.frees(), "Runs that came back.");
        families.counter("mooncake_master_distributed_page_allocation_failures_total", pages.failures(),
            "Values for which no run of pages was long enough, and which stay in memory alone (NO_SPACE).");
        families.gauge("kvtier_distributed_capacity_bytes", pages.capacity(), "Bytes of all shared files.");
        families.gauge("kvtier_distributed_allocated_bytes", pages.used(),
            "Bytes of pages of shared files that are in use: by replicas, by writers, or resting.");
        families.gauge("kvtier_distributed_replicas", pages.replicas(),
            "Replicas in shared files, those that are being written or rest included.");
        families.gauge("kvtier_distributed_writes", pages.writing(),
            "Allocations of pages whose clients have not said what has become of them.");
        families.counter("kvtier_distributed_evictions_total", pages.evictions(),
            "Replicas in shared files dropped to make room.");
        families.counter("kvtier_distributed_evicted_bytes_total", pages.evictedBytes(),
            "Bytes of the pages of replicas in shared files that were dropped to make room.");
        families.counter("kvtier_distributed_reaped_total", pages.reaped(),
            "Allocations of pages whose clients went, or did not speak of them in time.");
        families.counter("kvtier_distributed_stale_total", pages.stale(),
            "Values stored in shared files that had been removed or replaced meanwhile, or were wrong.");
        families.gauge("kvtier_distributed_hot_values_waiting", pages.hot().waiting(),
            "Values in shared files that are read often and wait to be copied to memory.");
        families.counter("kvtier_distributed_hot_values_total", pages.hot().queued(),
            "Values in shared files that were queued to be copied to memory.");
        families.counter("kvtier_distributed_hot_values_rejected_total", pages.hot().rejected(),
            "Values in shared files that were not queued, since the queue or memory was full.");
    }

    /** The label is the number in the file's name. */
    static void collectBuckets(final Families families, final List<BucketInfo> buckets) {
        final Map<String, Long> allocated = new TreeMap<>();
        final Map<String, Long> free = new TreeMap<>();
        for (int i = 0; i < buckets.size(); i++) {
            final BucketInfo bucket = buckets.get(i);
            final String label = String.format(Locale.ROOT, "%02x", i);
            allocated.put(label, bucket.allocated());
            free.put(label, bucket.pages() - bucket.allocated());
        }
        families.gauges("mooncake_master_distributed_pages_allocated", "Pages of this shared file that are in use.",
            LABEL, allocated);
        families.gauges("mooncake_master_distributed_pages_free", "Pages of this shared file that are free.",
            LABEL, free);
    }
}
