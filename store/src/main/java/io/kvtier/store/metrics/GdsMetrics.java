package io.kvtier.store.metrics;

import io.kvtier.store.protocol.GdsCommand.GdsStorageInfo;
import io.kvtier.store.protocol.GdsCommand.GdsWork;
import io.kvtier.store.protocol.MasterStats.GdsTold;
import io.kvtier.store.protocol.MasterStats.GdsTotals;
import io.kvtier.transport.HostDetour;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToLongFunction;

/** What a master knows of clients' own files for GDS replicas: of all together, and of each client's. */
final class GdsMetrics {
    private static final String ALL = "kvtier_gds_";
    private static final String CLIENT = "kvtier_gds_client_";
    private static final String OF_A_CLIENT = " Of this client, since its file was registered.";
    /** What owners tell of their work. */
    private static final List<Told> WORK = List.of(
        new Told("stored_total", "Values written to a file beside memory.", GdsWork::puts),
        new Told("only_stored_total", "Values written to a file alone.", GdsWork::onlyPuts),
        new Told("written_bytes_total", "Bytes of values written to files.", GdsWork::writtenBytes),
        new Told("reads_total", "Gets answered from a file, by its owner for itself and for others.", GdsWork::reads),
        new Told("read_bytes_total", "Bytes of values read from files.", GdsWork::readBytes),
        new Told("no_room_total", "Puts that found no room in their client's file.", GdsWork::noRoom),
        new Told("put_refusals_total",
            "Puts whose room in a file the master refused, or was not heard to answer about.", GdsWork::refused),
        new Told("write_failures_total", "Writes to a file that failed.", GdsWork::writeFailures),
        new Told("read_failures_total", "Reads of a file that failed.", GdsWork::readFailures),
        new Told("stale_reads_total", "Reads of what was not in the file any more.", GdsWork::staleReads));

    /** A count that owners tell, in all files and in one. */
    private record Told(String name, String help, ToLongFunction<GdsWork> count) {
    }

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
        collectTold(families, gds.told());
    }

    private static void collectTold(final Families families, final GdsTold told) {
        WORK.forEach(one -> families.counter(ALL + one.name, one.count.applyAsLong(told.work()), one.help));
        families.gauge("kvtier_gds_values", told.values(), "Values in files that their owners can read.");
        families.gauge("kvtier_gds_uncertain_extents", told.uncertain(),
            "Extents of which their owners do not know whether the master has them, or whether a device still uses "
                + "them.");
        families.gauge("kvtier_gds_compat_mode_storages", told.detours(),
            "Files to which all bytes of GPUs go through memory of the host, in cuFile's compatibility mode.");
    }

    static void collectStorages(final Families families, final List<GdsStorageInfo> storages) {
        final Clients clients = new Clients(families, storages);
        clients.gauge("capacity_bytes", "Bytes of this client's file for GDS replicas.", GdsStorageInfo::capacity);
        clients.gauge("allocated_bytes", "Bytes in use in this client's file for GDS replicas.", GdsStorageInfo::used);
        clients.gauge("replicas", "Replicas in this client's file for GDS replicas.", GdsStorageInfo::replicas);
        clients.counter("puts_total", "GDS replicas begun beside others.", one -> one.counts().puts());
        clients.counter("only_puts_total", "Objects begun in a file alone.", one -> one.counts().onlyPuts());
        clients.counter("evictions_total", "GDS replicas dropped to make room.", one -> one.counts().evictions());
        clients.counter("evicted_bytes_total", "Bytes of the extents of GDS replicas that were dropped to make room.",
            one -> one.counts().evictedBytes());
        WORK.forEach(told -> clients.counter(told.name, told.help, one -> told.count.applyAsLong(one.work())));
        clients.gauge("values", "Values that this client can read in its file.", one -> one.state().values());
        clients.gauge("used_bytes",
            "Bytes that this client has taken in its file, those that the master does not know of included.",
            one -> one.state().used());
        clients.gauge("uncertain_extents",
            "Extents of which this client does not know whether the master has them, or whether a device still uses "
                + "them.",
            one -> one.state().uncertain());
        clients.gauge("compat_mode", "1 when all bytes of this client's GPUs go to its file through memory of the "
            + "host, in cuFile's compatibility mode.", one -> one.state().detour() == HostDetour.ALWAYS ? 1 : 0);
        clients.gauge("compat_possible", "1 when they do where its file system cannot do without.",
            one -> one.state().detour() == HostDetour.POSSIBLE ? 1 : 0);
    }

    /** Families with a sample a client. */
    private record Clients(Families families, List<GdsStorageInfo> storages) {
        void gauge(final String name, final String help, final ToLongFunction<GdsStorageInfo> value) {
            families.gauges(CLIENT + name, help, "client", values(value));
        }

        void counter(final String name, final String help, final ToLongFunction<GdsStorageInfo> value) {
            families.counters(CLIENT + name, help + OF_A_CLIENT, "client", values(value));
        }

        private Map<String, Long> values(final ToLongFunction<GdsStorageInfo> value) {
            final Map<String, Long> values = new TreeMap<>();
            storages.forEach(storage -> values.put(storage.clientId().toString(), value.applyAsLong(storage)));
            return values;
        }
    }
}
