package io.kvtier.store.cli.bench;

import io.kvtier.bindings.Availability;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.cli.bench.ValueLoad.Operation;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.Direction;
import io.kvtier.transport.TransportKind;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Batches of values stored and loaded by each backend, without a master and a memory tier, past the page cache: beside
 * fio with as many requests on one file, and, by the one that a store has when it is told nothing, beside a loop that
 * writes and reads a file a value.
 */
final class BackendRows {
    private static final List<Long> SIZES = List.of(64L << 10, 1L << 20, 16L << 20);
    private static final double FIO_GOAL = 0.9;
    /** Of small ones the goal is not fio's rate: each has a name, a checksum and a record. */
    private static final long FIO_GOAL_FROM = 1L << 20;
    /** Beside a peer that makes durable what it writes, too. */
    private static final long COMPARED = 1L << 20;
    private static final double NO_GOAL = 0;
    private static final double GOAL = 1;
    /** What the offloader takes at once. */
    private static final long BATCH_BYTES = 32L << 20;
    private static final int MOST = 128;
    private static final int LEAST = 4;

    private final Workspace workspace;
    private final Peer fio;

    BackendRows(final Workspace workspace, final Peer fio) {
        this.workspace = workspace;
        this.fio = fio;
    }

    List<Row> rows() {
        final List<Row> rows = new ArrayList<>();
        for (final DiskBackend backend : DiskBackend.values()) {
            for (final long bytes : SIZES) {
                for (final Operation operation : Operation.values()) {
                    rows.add(besideFio(backend, shape(operation, bytes), false));
                }
                if (bytes == COMPARED) {
                    rows.add(besideFio(backend, shape(Operation.PUT, bytes), true));
                }
            }
        }
        for (final long bytes : SIZES) {
            for (final Operation operation : Operation.values()) {
                rows.add(besideFiles(shape(operation, bytes)));
            }
        }
        return rows;
    }

    private static ValueBatches.Shape shape(final Operation operation, final long bytes) {
        return new ValueBatches.Shape(operation, bytes, Math.clamp(BATCH_BYTES / bytes, LEAST, MOST),
            ReplicaType.LOCAL_DISK);
    }

    /** What a backend is called in rows: its name without what all of their names end in. */
    static String name(final DiskBackend backend) {
        return backend.configName().replace("_storage_backend", "").replace('_', ' ');
    }

    private static String name(final DiskBackend backend, final ValueBatches.Shape shape) {
        return name(backend) + ' ' + (shape.operation() == Operation.PUT ? "offload " : "load ")
            + Names.bytes(shape.bytes()) + ", batch of " + shape.count();
    }

    private Availability here() {
        final Availability ring = FileRows.here(TransportKind.IO_URING).get();
        return ring.available() ? DirectFolders.here(workspace.directory()) : ring;
    }

    private Row besideFio(final DiskBackend backend, final ValueBatches.Shape shape, final boolean durable) {
        final String beside = durable ? ", beside fdatasync each " + shape.count() : "";
        return new Row(name(backend, shape) + beside, Unit.MIB_PER_SECOND, fio,
            shape.bytes() >= FIO_GOAL_FROM ? FIO_GOAL : NO_GOAL, this::here, () -> Rig.with(rig -> {
                final ValueBatches ours = ours(rig, backend, shape);
                final Fio peer = durable ? Fio.durableUring(shape.bytes(), shape.count(), shape.count())
                    : Fio.uring(shape.operation() == Operation.PUT ? Direction.WRITE : Direction.READ,
                        shape.bytes(), shape.count());
                return new Contest(rig, ours::mebibytesPerSecond,
                    nanos -> peer.run(workspace.file(), workspace.fileBytes(), nanos));
            }));
    }

    private Row besideFiles(final ValueBatches.Shape shape) {
        final DiskBackend backend = DiskBackend.OFFSET_ALLOCATOR;
        return new Row(name(backend, shape) + ", beside a file a key", Unit.MIB_PER_SECOND,
            Peer.builtIn("loop over files, " + (shape.operation() == Operation.PUT ? "write and fdatasync"
                : "read") + " past the page cache"), GOAL, this::here,
            () -> Rig.with(rig -> {
                final ValueBatches ours = ours(rig, backend, shape);
                final ValueBatches peer = load(rig, shape, new PlainFiles(folder(rig), workspace.fileBytes()));
                return new Contest(rig, ours::mebibytesPerSecond, peer::mebibytesPerSecond);
            }));
    }

    private Path folder(final Rig rig) throws IOException {
        return DirectFolders.make(rig, workspace.directory(), "disk-");
    }

    private ValueBatches ours(final Rig rig, final DiskBackend backend, final ValueBatches.Shape shape)
        throws IOException {
        return load(rig, shape, BackendValues.open(rig, backend, folder(rig), workspace.fileBytes()));
    }

    private ValueBatches load(final Rig rig, final ValueBatches.Shape shape, final BatchValues values)
        throws IOException {
        return ValueBatches.open(rig, shape, HostBuffers.open(rig, workspace, shape, values),
            workspace.fileBytes());
    }
}
