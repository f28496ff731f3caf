package io.kvtier.store.cli.bench;

import io.kvtier.store.master.MasterServer;
import io.kvtier.store.master.SnapshotPlan;
import io.kvtier.store.metrics.RequestMetrics;
import io.kvtier.store.snapshot.files.DirectoryStore;
import io.kvtier.store.snapshot.files.SnapshotArchive;
import io.kvtier.transport.rpc.RpcServerConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Snapshots of a master in this process, with some objects and with five times as many: for how long everybody else is
 * kept from the state at once, which must not depend on that, and how fast they are written.
 */
final class SnapshotRows {
    /** A millisecond: what one part of anything long may take in the state. */
    private static final double LIMIT_NANOS = 1e6;
    private static final int TIMES = 5;
    private static final long NEVER_MS = 86_400_000;
    private static final double MILLIS = 1000;
    private static final String CLUSTER = "bench";

    private final Path directory;
    private final int objects;

    SnapshotRows(final Workspace workspace) {
        this.directory = workspace.directory().resolve("snapshots");
        this.objects = workspace.objects();
    }

    /** A master that has been filled. */
    private record Filled(MasterServer server, MasterLoad load) {
    }

    List<Row> rows() {
        final List<Row> rows = new ArrayList<>();
        for (final int count : List.of(objects, TIMES * objects)) {
            rows.add(new Row("longest wait for a slice of a snapshot of " + Names.count(count) + " objects",
                Unit.NANOSECONDS, Peer.builtIn("limit"), 1, Row.EVERYWHERE, () -> Rig.with(rig -> {
                    final Filled filled = filled(rig, count);
                    return new Contest(rig, nanos -> filled.server().snapshots().take().longestNanos(),
                        nanos -> LIMIT_NANOS);
                })));
        }
        rows.add(new Row("snapshot of " + Names.count(objects) + " objects, objects written", Unit.PER_SECOND,
            Recorded.nothing(), 1, Row.EVERYWHERE, () -> Rig.with(rig -> {
                final Filled filled = filled(rig, objects);
                return new Contest(rig, nanos -> objects * MILLIS / filled.server().snapshots().take().lastMs(),
                    nanos -> Double.NaN);
            })));
        return rows;
    }

    private Filled filled(final Rig rig, final int count) throws IOException {
        Files.createDirectories(directory);
        final SnapshotArchive archive =
            new SnapshotArchive(DirectoryStore.open(directory, CLUSTER), CLUSTER, 1);
        final MasterServer server = rig.keep(MasterServer.start(RpcServerConfig.loopback(0), MasterHost.settings(),
            new RequestMetrics(), SnapshotPlan.of(archive, new SnapshotPlan.Terms(true, false, NEVER_MS, NEVER_MS),
                System.currentTimeMillis())), MasterServer::close);
        final MasterLoad load = new MasterLoad(server.master());
        // An eighth more, so that nothing is evicted.
        load.lend(count + (count >> 3) + 1L);
        load.fill(count);
        return new Filled(server, load);
    }
}
