package io.kvtier.store.cli.bench;

import io.kvtier.bindings.Availability;
import io.kvtier.store.cli.bench.SharedReads.Way;
import io.kvtier.store.cli.bench.ValueLoad.Operation;
import io.kvtier.store.protocol.wire.RemoteMaster;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.storage.shared.BucketFiles;
import io.kvtier.store.storage.shared.FileSystemAdapter;
import io.kvtier.transport.Direction;
import io.kvtier.transport.TransportKind;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What makes reads of shared files fast: batches by way of the master's mapping with and without files that stay open,
 * by io_uring and one after the other; and the reads alone, without a master, beside fio on the same file. All of them
 * go past the page cache.
 */
final class SharedReadRows {
    private static final List<Long> SIZES = List.of(64L << 10, 1L << 20, 16L << 20);
    /** Of the largest a hundred do not fit into the memory of many machines. */
    private static final List<Long> BATCH_SIZES = List.of(64L << 10, 1L << 20);
    private static final long COMPARED = 1L << 20;
    private static final int KEYS = 100;
    private static final int DEPTH = 32;
    private static final double FIO_GOAL = 0.9;
    /** No less than without. */
    private static final double GOAL = 1;
    private static final long PAGE_BYTES = 64L << 10;

    private final Workspace workspace;
    private final Peer fio;

    SharedReadRows(final Workspace workspace, final Peer fio) {
        this.workspace = workspace;
        this.fio = fio;
    }

    List<Row> rows() {
        final List<Row> rows = new ArrayList<>();
        for (final long bytes : BATCH_SIZES) {
            rows.add(batch(bytes, "files kept open", "each value's file opened anew", Way.OPENED_ANEW));
            rows.add(batch(bytes, "io_uring", "one pread after the other", Way.ONE_BY_ONE));
        }
        for (final long bytes : SIZES) {
            for (final int depth : List.of(1, DEPTH)) {
                rows.add(direct(bytes, depth, false));
            }
            if (bytes == COMPARED) {
                rows.add(direct(bytes, DEPTH, true));
            }
        }
        return rows;
    }

    private Availability here() {
        final Availability ring = FileRows.here(TransportKind.IO_URING).get();
        return ring.available() ? DirectFolders.here(workspace.directory()) : ring;
    }

    private static ValueBatches.Shape shape(final long bytes, final int count) {
        return new ValueBatches.Shape(Operation.GET, bytes, count, ReplicaType.DISTRIBUTED_DISK);
    }

    /** Both sides read the same values of the same files. */
    private Row batch(final long bytes, final String what, final String without, final Way way) {
        return new Row("batch get " + Names.bytes(bytes) + ", " + KEYS + " keys, " + what, Unit.MIB_PER_SECOND,
            Peer.builtIn(without), GOAL, this::here, () -> Rig.with(rig -> {
                final ValueBatches.Shape shape = shape(bytes, KEYS);
                final DiskCluster cluster = DiskCluster.start(rig, workspace, shape);
                final RemoteMaster master = MasterProgram.connect(rig, cluster.master());
                final FileSystemAdapter files = DirectFolders.files(rig);
                final ValueBatches ours = ValueBatches.open(rig, shape, HostBuffers.open(rig, workspace, shape,
                    new MappedValues(cluster.store(), master,
                        new SharedReads(rig, cluster.layout(), files, Way.TOGETHER))), workspace.fileBytes());
                cluster.settle(ours.values());
                final ValueBatches peer = ValueBatches.over(rig, ours, HostBuffers.open(rig, workspace, shape,
                    new MappedValues(cluster.store(), master, new SharedReads(rig, cluster.layout(), files, way))));
                return new Contest(rig, ours::mebibytesPerSecond, peer::mebibytesPerSecond);
            }));
    }

    private Row direct(final long bytes, final int depth, final boolean compared) {
        return new Row("direct read " + Names.bytes(bytes) + (depth == 1 ? ", depth 1" : ", batch of " + depth)
            + (compared ? ", checksum compared" : ""), Unit.MIB_PER_SECOND, fio, FIO_GOAL, this::here,
            () -> Rig.with(rig -> {
                final ValueBatches.Shape shape = shape(bytes, depth);
                final PageLayout layout = layout(rig);
                final FileSystemAdapter files = DirectFolders.files(rig);
                BucketFiles.prepare(layout, files);
                final ValueBatches ours = ValueBatches.open(rig, shape, HostBuffers.open(rig, workspace, shape,
                    new PlacedValues(layout, new SharedReads(rig, layout, files, Way.TOGETHER), compared)),
                    layout.capacity());
                final Fio peer = depth == 1 ? Fio.threads(Direction.READ, bytes, 1)
                    : Fio.uring(Direction.READ, bytes, depth);
                // No further than values were written: what was never written is read from no disk.
                return new Contest(rig, ours::mebibytesPerSecond,
                    nanos -> peer.run(Path.of(layout.path(0)), ours.values() * bytes, nanos));
            }));
    }

    private PageLayout layout(final Rig rig) throws IOException {
        return new PageLayout(DirectFolders.make(rig, workspace.directory(), "shared-").toString(), 1, PAGE_BYTES,
            workspace.fileBytes());
    }
}
