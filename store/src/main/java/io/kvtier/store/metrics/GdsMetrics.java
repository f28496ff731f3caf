package io.kvtier.store.metrics;

import io.kvtier.store.protocol.GdsCommand.GdsStorageInfo;
import io.kvtier.store.protocol.MasterStats.GdsTotals;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToLongFunction;

/** What a master knows of clients' own files for GDS replicas: of all together, and of each client's. */
final class GdsMetrics {
    private GdsMetrics() {
    }

    static void collectTotals(final Families families, final GdsTotals gds) {
        families.gauge("kvtier_gds_storages", gds.storages(), "Files for GDS replicas that clients have registered.");
        families.gauge("kvtier_gds_capacity_bytes", gds.capacity(), "Bytes of all files for GDS replicas.");
        families.gauge("kvtier_gds_allocated_bytes", gds.used(), "Bytes in use in all files for GDS replicas.");
        families.gauge("kvtier_gds_replicas", gds.replicas(),
            "Replicas in files, those that are being written or rest included.");
        families.counter("kvtier_gds_puts_total", gds.counts().puts(), "GDS replicas begun beside others.");
        families.counter("kvtier_gds_only_puts_total", gds.counts().onlyPuts(),
            "Objects begun in a file alone, since there was no memory for them.");
        families.counter("kvtier_gds_adopted_total", gds.counts().adopted(),
            "Values that were found in a file after a restart, or were forgotten, and were taken.");
        families.counter("kvtier_gds_refused_total", gds.counts().refused(), "Those that were not taken.");
        families.counter("kvtier_gds_evictions_total", gds.counts().evictions(),
            "GDS replicas dropped to make room.");
        families.counter("kvtier_gds_evicted_bytes_total", gds.counts().evictedBytes(),
            "Bytes of the extents of GDS replicas that were dropped to make room.");
        families.counter("kvtier_gds_settled_total", gds.counts().settled(),
            "Extents whose owner had not heard what had become of them, and asked.");
    }

    static void collectStorages(final Families families, final List<GdsStorageInfo> storages) {
        families.gauges("kvtier_gds_client_capacity_bytes", "Bytes of this client's file for GDS replicas.",
            "client", byClient(storages, GdsStorageInfo::capacity));
        families.gauges("kvtier_gds_client_allocated_bytes", "Bytes in use in this client's file for GDS replicas.",
            "client", byClient(storages, GdsStorageInfo::used));
        families.gauges("kvtier_gds_client_replicas", "Replicas in this client's file for GDS replicas.",
            "client", byClient(storages, GdsStorageInfo::replicas));
    }

    private static Map<String, Long> byClient(final List<GdsStorageInfo> storages,
        final ToLongFunction<GdsStorageInfo> value) {
        final Map<String, Long> values = new TreeMap<>();
        storages.forEach(storage -> values.put(storage.clientId().toString(), value.applyAsLong(storage)));
        return values;
    }
}
