package io.kvtier.store.cli.bench;

import io.kvtier.store.GdsConfig;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.cli.bench.ValueLoad.Operation;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.Direction;
import io.kvtier.transport.TransportKind;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Values between memory of the host and a store's file for GDS offload, moved by io_uring, beside fio with as many
 * requests under way; and what a put costs that goes to the file beside memory.
 */
final class OffloadRows {
    private static final List<Long> SIZES = List.of(64L << 10, 1L << 20, 16L << 20);
    private static final long COMPARED = 1L << 20;
    private static final int BATCH = 32;
    private static final double GOAL = 0.9;
    /** A second copy takes time; how much is to be seen. */
    private static final double NO_GOAL = 0;
    private static final long MEMORY_BYTES = 512L << 20;
    private static final double MIB = 1 << 20;
    private static final double NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Workspace workspace;
    private final OffloadStores stores;
    private final Peer fio;

    /** What a store does beside moving the bytes. */
    private enum Care {
        /** Puts: a checksum, and an index for a warm restart, which makes durable what it names. */
        WARM(""),
        /** The same, beside a peer that makes durable what it writes, too. */
        DURABLE(", beside fdatasync each " + BATCH),
        /** Puts: a checksum. */
        COLD(", no warm restart"),
        /** Gets: the checksum is compared. */
        CHECKED(", checked"),
        /** Gets: nothing. */
        UNCHECKED(", unchecked");

        private final String label;

        Care(final String label) {
            this.label = label;
        }
    }

    OffloadRows(final Workspace workspace, final Peer fio) {
        this.workspace = workspace;
        this.stores = new OffloadStores(workspace);
        this.fio = fio;
    }

    List<Row> rows() {
        final List<Row> rows = new ArrayList<>();
        addRows(rows, Operation.PUT, Care.WARM, List.of(Care.DURABLE, Care.COLD));
        addRows(rows, Operation.GET, Care.CHECKED, List.of(Care.UNCHECKED));
        rows.add(besideMemoryOnly());
        return rows;
    }

    /** All sizes as a store is that is told nothing, one of them otherwise, too. */
    private void addRows(final List<Row> rows, final Operation operation, final Care usual, final List<Care> others) {
        for (final long bytes : SIZES) {
            final ValueBatches.Shape shape = new ValueBatches.Shape(operation, bytes, BATCH, ReplicaType.GDS);
            rows.add(besideFio(shape, usual));
            if (bytes == COMPARED) {
                others.forEach(care -> rows.add(besideFio(shape, care)));
            }
        }
    }

    private Row besideFio(final ValueBatches.Shape shape, final Care care) {
        return new Row("host " + shape + care.label, Unit.MIB_PER_SECOND, fio, GOAL,
            FileRows.here(TransportKind.IO_URING), () -> Rig.with(rig -> {
                final StoreConfig.Builder config = StoreConfig.builder().memoryBytes(OffloadStores.NO_MEMORY)
                    .verifyDiskReads(care != Care.UNCHECKED);
                final Store store = stores.open(rig, config,
                    stores.config(GdsConfig.Mover.IO_URING).withWarmRestart(care != Care.COLD));
                final ValueBatches ours = ValueBatches.open(rig, shape,
                    HostBuffers.open(rig, workspace, shape, store), workspace.fileBytes());
                final Fio peer = peer(shape, care);
                return new Contest(rig, ours::mebibytesPerSecond,
                    nanos -> peer.run(workspace.file(), workspace.fileBytes(), nanos));
            }));
    }

    private static Fio peer(final ValueBatches.Shape shape, final Care care) {
        return care == Care.DURABLE ? Fio.durableUring(shape.bytes(), shape.count(), shape.count())
            : Fio.uring(shape.operation() == Operation.PUT ? Direction.WRITE : Direction.READ, shape.bytes(),
                shape.count());
    }

    private Row besideMemoryOnly() {
        final ValueLoad.Shape shape =
            new ValueLoad.Shape(Operation.PUT, COMPARED, 1, (int) (MEMORY_BYTES / COMPARED), 1);
        return new Row("time of a put of " + Names.bytes(COMPARED) + " to memory and file, 1 thread",
            Unit.NANOSECONDS, Peer.builtIn("the same to memory only"), NO_GOAL,
            FileRows.here(TransportKind.IO_URING), () -> Rig.with(rig -> {
                final Store both = stores.open(rig, memory(), stores.config(GdsConfig.Mover.IO_URING));
                final ValueLoad ours = ValueLoad.open(rig, shape, workspace, () -> new StoreValues(both));
                final Store one = rig.keep(Store.open(memory().gds(GdsConfig.NONE).build()), Store::close);
                final ValueLoad peer = ValueLoad.open(rig, shape, workspace, () -> new StoreValues(one));
                return new Contest(rig, nanos -> nanosEach(ours, nanos), nanos -> nanosEach(peer, nanos));
            }));
    }

    private static StoreConfig.Builder memory() {
        return StoreConfig.builder().memoryBytes(MEMORY_BYTES).hugePages(true);
    }

    private static double nanosEach(final ValueLoad load, final long nanos) throws IOException,
        InterruptedException {
        return COMPARED / MIB * NANOS / load.mebibytesPerSecond(nanos);
    }
}
