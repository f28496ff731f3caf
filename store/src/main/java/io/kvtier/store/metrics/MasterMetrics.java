package io.kvtier.store.metrics;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.AdminCommand.TenantInfo;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.MasterStats.EvictionRuns;
import io.kvtier.store.protocol.PageCommand;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.snapshot.SnapshotCounts;
import io.kvtier.store.snapshot.SnapshotService;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/**
 * All metrics of a master: pulled from it when somebody asks.
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> for the master's answers to a few queries, none of which renews a
 * lease or counts as a use.
 */
public final class MasterMetrics {
    private static final double MILLIS = 1000;
    private static final double NANOS = 1e9;
    private static final String TENANT = "tenant";

    private final Master master;
    private final RequestMetrics requests;
    private final Facts facts;
    private final LongSupplier connections;
    private final SnapshotService snapshots;

    /**
     * What does not change while a master runs.
     *
     * @param clusterId what the cluster is called.
     * @param version   of the program.
     * @param startedMs when the process began, milliseconds since 1970.
     */
    public record Facts(String clusterId, String version, long startedMs) {
    }

    /** Sums over the segments of one name. */
    private record Sizes(long used, long capacity) {
        static Sizes plus(final Sizes a, final Sizes b) {
            return new Sizes(a.used + b.used, a.capacity + b.capacity);
        }
    }

    /**
     * Metrics of a master.
     *
     * @param master      is asked for its counters.
     * @param requests    what was counted where requests are carried out.
     * @param facts       what does not change.
     * @param connections how many clients are connected now.
     * @param snapshots   takes snapshots; null where none are taken.
     */
    public MasterMetrics(final Master master, final RequestMetrics requests, final Facts facts,
        final LongSupplier connections, final SnapshotService snapshots) {
        this.master = master;
        this.requests = requests;
        this.facts = facts;
        this.connections = connections;
        this.snapshots = snapshots;
    }

    /**
     * Writes everything in Prometheus' text format 0.0.4, in UTF-8; families are sorted by name.
     *
     * @param out gets the text, and is not closed.
     * @throws IOException when it cannot be written to.
     */
    public void write(final OutputStream out) throws IOException {
        final Families families = new Families();
        collectFacts(families);
        collectStats(families, master.apply(new AdminCommand.Statistics()));
        GdsMetrics.collectStorages(families, listed(new GdsCommand.GdsStorages()));
        PageMetrics.collectBuckets(families, listed(new PageCommand.DistributedBuckets()));
        collectSegments(families, listed(new SegmentCommand.Segments()));
        collectTenants(families, listed(new AdminCommand.Quotas()));
        if (snapshots != null) {
            collectSnapshots(families, snapshots.counts());
        }
        requests.collect(families);
        families.write(out);
    }

    /**
     * What is written.
     *
     * @return the media type of {@link #write}'s text.
     */
    public static String contentType() {
        return Families.CONTENT_TYPE;
    }

    /**
     * The most important figures, for people.
     *
     * @return one line.
     */
    public String summary() {
        final MasterStats stats = master.apply(new AdminCommand.Statistics());
        final double share = stats.memoryCapacity() == 0 ? 0 : 100.0 * stats.memoryUsed() / stats.memoryCapacity();
        return String.format(Locale.ROOT, "cluster %s: %d keys, memory %d of %d bytes (%.1f %%), %d replicas in memory "
                + "and %d on disks, %d evicted, %d offloads waiting, %d clients, %d connections, %d requests, %d of "
                + "them refused", facts.clusterId, stats.objects(), stats.memoryUsed(), stats.memoryCapacity(), share,
            stats.memoryReplicas(), stats.diskReplicas(), stats.memoryEvictions(), stats.offloadsPending(),
            stats.clients(), connections.getAsLong(), requests.total(),
            requests.failures());
    }

    /** What a master of this mode does not have is not there. */
    private <T> List<T> listed(final Command<List<T>> command) {
        try {
            return master.apply(command);
        } catch (final StoreException e) {
            if (e.code() == ErrorCode.UNAVAILABLE_IN_CURRENT_MODE) {
                return List.of();
            }
            throw e;
        }
    }

    private void collectFacts(final Families families) {
        families.info("kvtier_master_info", "Always 1; what runs here stands in the labels.",
            "cluster_id", facts.clusterId, "version", facts.version);
        families.gauge("process_start_time_seconds", facts.startedMs / MILLIS, "When the process began, since 1970.");
        families.gauge("kvtier_master_connections", connections.getAsLong(), "Connections of clients.");
    }

    private static void collectSnapshots(final Families families, final SnapshotCounts counts) {
        families.counter("master_snapshot_success", counts.taken(),
            "Snapshots of the master's state that are durable.");
        families.counter("master_snapshot_fail", counts.failed(), "Snapshots that could not be taken or written.");
        families.gauge("master_snapshot_duration_ms", counts.lastMs(), "Milliseconds that the last snapshot took.");
        families.gauge("kvtier_snapshot_last_success_time_seconds", counts.lastAtMs() / MILLIS,
            "The moment that the last durable snapshot is of, since 1970; 0 when there is none yet.");
        families.gauge("kvtier_snapshot_last_bytes", counts.lastBytes(), "Bytes of the last durable snapshot.");
        families.gauge("kvtier_snapshot_last_objects", counts.lastObjects(), "Objects in the last durable snapshot.");
        families.gauge("kvtier_snapshot_longest_slice_seconds", counts.longestNanos() / NANOS,
            "The longest time for which the last snapshot kept commands waiting.");
    }

    private static void collectStats(final Families families, final MasterStats stats) {
        families.gauge("master_key_count", stats.objects(), "Objects, those being written included.");
        families.gauge("master_soft_pin_key_count", stats.softPinned(), "Objects that are pinned softly.");
        families.gauge("kvtier_groups", stats.groups(), "Groups of objects.");
        families.gauge("master_active_clients", stats.clients(), "Clients that are taken for alive.");
        families.gauge("kvtier_pending_writes", stats.pendingWrites(), "Puts started and not ended.");
        families.counter("master_put_start_discard_cnt", stats.discardedWrites(),
            "Puts that another one took the place of before they had ended.");
        families.counter("master_put_start_release_cnt", stats.releasedWrites(),
            "Puts given up because they did not end in time.");
        families.counter("master_put_start_alloc_failures_total", stats.allocations().failures(),
            "Puts, and further tries of waiting ones, for which there was no room.");
        families.counter("master_put_start_partial_allocations_total", stats.allocations().partial(),
            "Puts that got fewer replicas than they wanted.");
        families.gauge("master_put_start_discarded_staging_size", stats.allocations().stale(),
            "Bytes of values of puts that another one took the place of, and whose writers may still be at it.");
        collectSpace(families, stats);
        collectGets(families, stats.gets());
        collectEvictions(families, "", "in memory and on block devices", stats.memoryEvictions()
            + stats.nofEvictions(), sum(stats.memoryRuns(), stats.nofRuns()));
        collectEvictions(families, "_mem", "in memory", stats.memoryEvictions(), stats.memoryRuns());
        collectEvictions(families, "_nof", "on block devices", stats.nofEvictions(), stats.nofRuns());
        families.counter("kvtier_offloads_total", stats.offloads(), "Values copied to disks.");
        families.counter("kvtier_offload_failures_total", stats.offloadFailures(),
            "Values that could not be copied to a disk.");
        families.gauge("kvtier_offloads_pending", stats.offloadsPending(),
            "Values that wait to be copied to a disk, or are.");
        collectPromotions(families, stats);
        GdsMetrics.collectTotals(families, stats.gds());
        PageMetrics.collectTotals(families, stats.pages());
        families.counter("master_nof_heartbeat_success_total", stats.probes().successes(),
            "Probes of block devices that were answered.");
        families.counter("master_nof_heartbeat_failure_total", stats.probes().failures(),
            "Probes of block devices that were not, or not well.");
        families.counter("master_nof_heartbeat_timeout_total", stats.probes().timeouts(),
            "Those of the failed probes of block devices that were not answered in time.");
        families.counter("master_nof_segments_unmounted_by_heartbeat_total", stats.probes().unmounted(),
            "Block devices taken out of use because too many probes in a row had failed.");
    }

    private static void collectPromotions(final Families families, final MasterStats stats) {
        families.counter("master_promotion_admitted_total", stats.promoted().admitted(),
            "Promotions from disks that got room in memory.");
        families.gauge("master_promotion_in_flight", stats.activePromotions(),
            "Values that are copied from a disk to memory.");
        families.counter("master_promotion_completed_total", stats.promotions(),
            "Values that were copied from a disk to memory.");
        families.counter("master_promotion_completed_bytes_total", stats.promoted().completedBytes(),
            "Bytes of values that were copied from a disk to memory.");
        families.counter("master_promotion_failed_total", stats.promoted().failed(),
            "Promotions that their clients could not do.");
        families.counter("master_promotion_cancelled_total", stats.promoted().cancelled(),
            "Promotions whose objects, clients or segments went.");
        families.counter("master_promotion_expired_total", stats.promoted().expired(),
            "Promotions given up because they did not end in time.");
        families.counter("master_promotion_rejected_watermark_total", stats.promoted().rejected().room(),
            "Promotions that were not admitted because memory had no room.");
        families.counter("kvtier_promotion_rejected_quota_total", stats.promoted().rejected().quota(),
            "Promotions that were not admitted because the quota of their tenant was used up.");
        families.counter("kvtier_promotion_rejected_busy_total", stats.promoted().rejected().busy(),
            "Promotions that were not admitted because their object had gone, or was in memory, written or copied.");
    }

    private static void collectSpace(final Families families, final MasterStats stats) {
        families.gauge("master_allocated_bytes", stats.memoryUsed(), "Bytes allocated in memory.");
        families.gauge("master_total_capacity_bytes", stats.memoryCapacity(), "Bytes of memory that clients lend.");
        families.gauge("master_nof_allocated_bytes", stats.nofUsed(), "Bytes allocated on block devices.");
        families.gauge("master_total_nof_capacity_bytes", stats.nofCapacity(), "Bytes of block devices.");
        families.gauge("master_allocated_file_size_bytes", stats.diskUsed(),
            "Bytes of values on clients' disks, and in files of their own.");
        families.gauge("master_total_file_capacity_bytes", stats.diskCapacity(), "Bytes of clients' disks.");
        families.gauge("mem_cache_nums_", stats.memoryReplicas(), "Replicas in memory.");
        families.gauge("file_cache_nums_", stats.diskReplicas(), "Replicas on disks.");
        families.gauge("kvtier_held_replicas", stats.heldReplicas(),
            "Memory replicas that somebody in the master's process reads, or that are written or copied.");
        families.counter("kvtier_evictions_without_copy_total", stats.evictionsWithoutCopy(),
            "Evicted replicas that were the last ones of their objects.");
        families.counter("kvtier_disk_evictions_total", stats.diskEvictions(), "Disk replicas dropped to make room.");
    }

    private static EvictionRuns sum(final EvictionRuns a, final EvictionRuns b) {
        return new EvictionRuns(a.attempts() + b.attempts(), a.successes() + b.successes(), a.bytes() + b.bytes());
    }

    /** The sums have names of their own: with {@code _total}, where those of one medium have the medium. */
    private static void collectEvictions(final Families families, final String suffix, final String where,
        final long replicas, final EvictionRuns runs) {
        final String runsSuffix = suffix.isEmpty() ? "_total" : suffix;
        families.counter("master_attempted_evictions" + runsSuffix, runs.attempts(),
            "Times that room was to be made " + where + '.');
        families.counter("master_successful_evictions" + runsSuffix, runs.successes(),
            "Times that something was dropped " + where + ", or sent to a disk to be dropped.");
        families.counter("master_evicted_key_count" + suffix, replicas,
            "Replicas dropped to make room " + where + '.');
        families.counter("master_evicted_size_bytes" + suffix, runs.bytes(),
            "Bytes allocated to replicas that were dropped to make room " + where + '.');
    }

    private static void collectGets(final Families families, final MasterStats.Gets gets) {
        families.counter("total_get_nums_", gets.total(), "Reads that were asked for.");
        families.counter("valid_get_nums_", gets.valid(), "Reads whose value was found.");
        families.counter("mem_cache_hit_nums_", gets.memoryHits(), "Reads whose value was found in memory.");
        families.counter("mem_cache_hit_bytes_total", gets.memoryBytes(), "Bytes of values found in memory.");
        families.counter("kvtier_nof_hits_total", gets.nofHits(), "Reads whose value was found on a block device.");
        families.counter("kvtier_nof_hit_bytes_total", gets.nofBytes(), "Bytes of values found on block devices.");
        families.counter("kvtier_gds_hits_total", gets.gdsHits(),
            "Reads whose value was found in a client's own file.");
        families.counter("kvtier_gds_hit_bytes_total", gets.gdsBytes(),
            "Bytes of values found in clients' own files.");
        families.counter("kvtier_distributed_hits_total", gets.pageHits(),
            "Reads whose value was found in a shared file.");
        families.counter("kvtier_distributed_hit_bytes_total", gets.pageBytes(),
            "Bytes of values found in shared files.");
        families.counter("file_cache_hit_nums_", gets.diskHits(), "Reads whose value was found on a disk alone.");
        families.counter("file_cache_hit_bytes_total", gets.diskBytes(), "Bytes of values found on disks alone.");
    }

    private static void collectSegments(final Families families, final List<SegmentCommand.SegmentInfo> segments) {
        final Map<String, Sizes> memory = new TreeMap<>();
        final Map<String, Sizes> nof = new TreeMap<>();
        long returning = 0;
        long closed = 0;
        for (final SegmentCommand.SegmentInfo segment : segments) {
            (segment.medium() == SegmentCommand.Medium.NOF ? nof : memory).merge(segment.name(),
                new Sizes(segment.used(), segment.capacity()), Sizes::plus);
            returning += segment.returning() ? 1 : 0;
            closed += segment.returning() ? segment.capacity() : 0;
        }
        families.gauge("kvtier_returning_segments", returning, "Memory segments in which nothing is allocated because "
            + "their clients have not said that all values of before are back.");
        families.gauge("kvtier_returning_segment_bytes", closed, "Bytes of these segments.");
        collectSizes(families, "segment", "memory segments of this name", memory);
        collectSizes(families, "nof_segment", "block devices of this name", nof);
    }

    private static void collectSizes(final Families families, final String prefix, final String what,
        final Map<String, Sizes> byName) {
        final Map<String, Long> used = new TreeMap<>();
        final Map<String, Long> capacity = new TreeMap<>();
        byName.forEach((name, sizes) -> {
            used.put(name, sizes.used);
            capacity.put(name, sizes.capacity);
        });
        families.gauges(prefix + "_allocated_bytes", "Bytes allocated in " + what + '.', "segment", used);
        families.gauges(prefix + "_total_capacity_bytes", "Bytes of " + what + '.', "segment", capacity);
    }

    private static void collectTenants(final Families families, final List<TenantInfo> tenants) {
        families.gauges("kvtier_tenant_quota_bytes", "What a tenant may use now.", TENANT,
            byTenant(tenants, TenantInfo::effective));
        families.gauges("kvtier_tenant_charged_bytes", "What a tenant uses.", TENANT,
            byTenant(tenants, TenantInfo::charged));
        families.gauges("kvtier_tenant_objects", "Objects of a tenant.", TENANT,
            byTenant(tenants, TenantInfo::objects));
        families.counters("mooncake_tenant_quota_reject_total",
            "Puts of a tenant that were refused for want of quota.", TENANT,
            byTenant(tenants, TenantInfo::rejections));
        families.counters("mooncake_tenant_evict_bytes_total",
            "Bytes of a tenant's values that were taken from memory to make room in its quota.", TENANT,
            byTenant(tenants, TenantInfo::evictedBytes));
    }

    private static Map<String, Long> byTenant(final List<TenantInfo> tenants, final ToLongFunction<TenantInfo> of) {
        return tenants.stream().collect(Collectors.toMap(TenantInfo::tenant, of::applyAsLong));
    }
}
