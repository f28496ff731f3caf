package io.kvtier.store.cli.bench;

import io.kvtier.bindings.Availability;
import io.kvtier.store.cli.bench.ValueLoad.Operation;
import io.kvtier.store.replica.ReplicaType;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Values that another process has written, read from files that both mount, beside the same values on the disk of that
 * other process, which reads them and sends them. Both go past the page cache; each side has a master of its own, and
 * is asked for values that are on its disk alone.
 */
final class CrossNodeRows {
    private static final double GOAL = 3;
    private static final List<Long> SIZES = List.of(64L << 10, 1L << 20, 16L << 20);
    private static final int BATCH = 100;
    /** As many of the largest as take 256 MiB. */
    private static final int LARGE_BATCH = 16;
    private static final Peer PEER =
        Peer.builtIn("LOCAL_DISK of another process, read past the page cache, sent over TCP");

    private final Workspace workspace;

    CrossNodeRows(final Workspace workspace) {
        this.workspace = workspace;
    }

    List<Row> rows() {
        final List<Row> rows = new ArrayList<>();
        for (final long bytes : SIZES) {
            rows.add(row(bytes, 1));
            rows.add(row(bytes, bytes == SIZES.getLast() ? LARGE_BATCH : BATCH));
        }
        return rows;
    }

    private Row row(final long bytes, final int count) {
        final String name = "cross-node get " + Names.bytes(bytes) + (count == 1 ? ", single" : ", batch of " + count)
            + ", shared files past the page cache";
        return new Row(name, Unit.MIB_PER_SECOND, PEER, GOAL, this::here, () -> Rig.with(rig -> {
            final ValueBatches ours = load(rig, bytes, count, ReplicaType.DISTRIBUTED_DISK);
            final ValueBatches peer = load(rig, bytes, count, ReplicaType.LOCAL_DISK);
            return new Contest(rig, ours::mebibytesPerSecond, peer::mebibytesPerSecond);
        }));
    }

    private Availability here() {
        final Availability shared = DirectFolders.here(workspace.directory());
        return shared.available() ? DirectFolders.here(workspace.ownerDirectory()) : shared;
    }

    private ValueBatches load(final Rig rig, final long bytes, final int count, final ReplicaType from)
        throws IOException, InterruptedException {
        final ValueBatches.Shape shape = new ValueBatches.Shape(Operation.GET, bytes, count, from);
        final DiskCluster cluster = DiskCluster.start(rig, workspace, shape);
        final ValueBatches load = ValueBatches.open(rig, shape,
            HostBuffers.open(rig, workspace, shape, cluster.store()), workspace.fileBytes());
        cluster.settle(load.values());
        return load;
    }
}
