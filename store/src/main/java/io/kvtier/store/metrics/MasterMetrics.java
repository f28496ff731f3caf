package io.kvtier.store.metrics;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.SegmentCommand;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/**
 * All metrics of a master: pulled from it when somebody asks.
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> for the master's answers to three queries, none of which renews a
 * lease or counts as a use.
 */
public final class MasterMetrics {
    private static final double MILLIS = 1000;

    private final Master master;
    private final RequestMetrics requests;
    private final Facts facts;
    private final LongSupplier connections;

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
     */
    public MasterMetrics(final Master master, final RequestMetrics requests, final Facts facts,
        final LongSupplier connections) {
        this.master = master;
        this.requests = requests;
        this.facts = facts;
        this.connections = connections;
    }

    /**
     * Writes everything in Prometheus' text format 0.0.4.
     *
     * @param out gets the text.
     * @throws IOException when it cannot be written to.
     */
    public void write(final Appendable out) throws IOException {
        final MetricsText text = new MetricsText(out);
        writeFacts(text);
        writeStats(text, master.apply(new AdminCommand.Statistics()));
        writeSegments(text, listed(new SegmentCommand.Segments()));
        writeTenants(text, listed(new AdminCommand.Quotas()));
        requests.write(text);
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

    private void writeFacts(final MetricsText text) throws IOException {
        text.family("kvtier_master_info", MetricsText.Type.GAUGE, "Always 1; what runs here stands in the labels.")
            .sample(1, "cluster_id", facts.clusterId, "version", facts.version);
        text.family("process_start_time_seconds", MetricsText.Type.GAUGE, "When the process began, since 1970.")
            .sample(facts.startedMs / MILLIS);
        text.family("kvtier_master_connections", MetricsText.Type.GAUGE, "Connections of clients.")
            .sample(connections.getAsLong());
    }

    private static void writeStats(final MetricsText text, final MasterStats stats) throws IOException {
        gauge(text, "master_key_count", stats.objects(), "Objects, those being written included.");
        gauge(text, "master_soft_pin_key_count", stats.softPinned(), "Objects that are pinned softly.");
        gauge(text, "kvtier_groups", stats.groups(), "Groups of objects.");
        gauge(text, "master_active_clients", stats.clients(), "Clients that are taken for alive.");
        gauge(text, "kvtier_pending_writes", stats.pendingWrites(), "Puts started and not ended.");
        counter(text, "master_put_start_discard_cnt", stats.discardedWrites(),
            "Puts that another one took the place of before they had ended.");
        counter(text, "master_put_start_release_cnt", stats.releasedWrites(),
            "Puts given up because they did not end in time.");
        writeSpace(text, stats);
        counter(text, "kvtier_offloads_total", stats.offloads(), "Values copied to disks.");
        counter(text, "kvtier_offload_failures_total", stats.offloadFailures(),
            "Values that could not be copied to a disk.");
        gauge(text, "kvtier_offloads_pending", stats.offloadsPending(),
            "Values that wait to be copied to a disk, or are.");
        gauge(text, "master_promotion_in_flight", stats.activePromotions(),
            "Values that are copied from a disk to memory.");
        counter(text, "master_promotion_completed_total", stats.promotions(),
            "Values that were copied from a disk to memory.");
    }

    private static void writeSpace(final MetricsText text, final MasterStats stats) throws IOException {
        gauge(text, "master_allocated_bytes", stats.memoryUsed(), "Bytes allocated in memory.");
        gauge(text, "master_total_capacity_bytes", stats.memoryCapacity(), "Bytes of memory that clients lend.");
        gauge(text, "master_nof_allocated_bytes", stats.nofUsed(), "Bytes allocated on block devices.");
        gauge(text, "master_total_nof_capacity_bytes", stats.nofCapacity(), "Bytes of block devices.");
        gauge(text, "master_total_file_capacity_bytes", stats.diskCapacity(), "Bytes of clients' disks.");
        gauge(text, "mem_cache_nums_", stats.memoryReplicas(), "Replicas in memory.");
        gauge(text, "file_cache_nums_", stats.diskReplicas(), "Replicas on disks.");
        gauge(text, "kvtier_held_replicas", stats.heldReplicas(),
            "Memory replicas that somebody in the master's process reads, or that are written or copied.");
        counter(text, "master_evicted_key_count", stats.memoryEvictions() + stats.nofEvictions(),
            "Replicas dropped to make room, in memory and on block devices.");
        counter(text, "master_evicted_key_count_mem", stats.memoryEvictions(),
            "Memory replicas dropped to make room.");
        counter(text, "master_evicted_key_count_nof", stats.nofEvictions(),
            "Replicas on block devices dropped to make room.");
        counter(text, "kvtier_evictions_without_copy_total", stats.evictionsWithoutCopy(),
            "Evicted replicas that were the last ones of their objects.");
        counter(text, "kvtier_disk_evictions_total", stats.diskEvictions(), "Disk replicas dropped to make room.");
    }

    private static void gauge(final MetricsText text, final String name, final long value, final String help)
        throws IOException {
        text.family(name, MetricsText.Type.GAUGE, help).sample(value);
    }

    private static void counter(final MetricsText text, final String name, final long value, final String help)
        throws IOException {
        text.family(name, MetricsText.Type.COUNTER, help).sample(value);
    }

    private static void writeSegments(final MetricsText text, final List<SegmentCommand.SegmentInfo> segments)
        throws IOException {
        final Map<String, Sizes> memory = new TreeMap<>();
        final Map<String, Sizes> nof = new TreeMap<>();
        for (final SegmentCommand.SegmentInfo segment : segments) {
            (segment.medium() == SegmentCommand.Medium.NOF ? nof : memory).merge(segment.name(),
                new Sizes(segment.used(), segment.capacity()), Sizes::plus);
        }
        writeSizes(text, "segment", "memory segments of this name", memory);
        writeSizes(text, "nof_segment", "block devices of this name", nof);
    }

    private static void writeSizes(final MetricsText text, final String prefix, final String what,
        final Map<String, Sizes> byName) throws IOException {
        text.family(prefix + "_allocated_bytes", MetricsText.Type.GAUGE, "Bytes allocated in " + what + '.');
        for (final Map.Entry<String, Sizes> entry : byName.entrySet()) {
            text.sample(entry.getValue().used, "segment", entry.getKey());
        }
        text.family(prefix + "_total_capacity_bytes", MetricsText.Type.GAUGE, "Bytes of " + what + '.');
        for (final Map.Entry<String, Sizes> entry : byName.entrySet()) {
            text.sample(entry.getValue().capacity, "segment", entry.getKey());
        }
    }

    private static void writeTenants(final MetricsText text, final List<AdminCommand.TenantInfo> tenants)
        throws IOException {
        text.family("kvtier_tenant_quota_bytes", MetricsText.Type.GAUGE, "What a tenant may use now.");
        for (final AdminCommand.TenantInfo tenant : tenants) {
            text.sample(tenant.effective(), "tenant", tenant.tenant());
        }
        text.family("kvtier_tenant_charged_bytes", MetricsText.Type.GAUGE, "What a tenant uses.");
        for (final AdminCommand.TenantInfo tenant : tenants) {
            text.sample(tenant.charged(), "tenant", tenant.tenant());
        }
        text.family("kvtier_tenant_objects", MetricsText.Type.GAUGE, "Objects of a tenant.");
        for (final AdminCommand.TenantInfo tenant : tenants) {
            text.sample(tenant.objects(), "tenant", tenant.tenant());
        }
        text.family("mooncake_tenant_quota_reject_total", MetricsText.Type.COUNTER,
            "Puts of a tenant that were refused for want of quota.");
        for (final AdminCommand.TenantInfo tenant : tenants) {
            text.sample(tenant.rejections(), "tenant", tenant.tenant());
        }
    }
}
