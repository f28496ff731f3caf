package io.kvtier.store.cli.bench;

import io.kvtier.transport.Direction;
import io.kvtier.transport.TransportKind;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The bench of the transfer engine: each transport beside the usual tool for the same way of moving bytes. */
final class TransferBench {
    /** Enough for the compiler, and for the first touch of all memory. */
    private static final long WARM_UP_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long HEAP_BLOCK = 64L << 10;
    private static final int HEAP_DEPTH = 8;

    private TransferBench() {
    }

    static Bench bench() {
        return new Bench("transfer", "Moves blocks by each transport of the transfer engine, beside fio, iperf3, "
            + "cuFile and plain copies with the same pattern.", WARM_UP_NANOS, TransferBench::rows);
    }

    private static List<Row> rows(final Workspace workspace) throws InterruptedException {
        final FileRows files = new FileRows(workspace, Fio.peer());
        final MemoryRows memory = new MemoryRows(workspace);
        final ShmRows shm = new ShmRows(workspace, memory);
        final TcpRows tcp = new TcpRows(workspace, Iperf.peer());
        final GdsRows gds = new GdsRows(workspace);
        final List<Row> rows = new ArrayList<>();
        rows.addAll(files.rows());
        rows.addAll(memory.rows());
        rows.addAll(shm.rows());
        rows.addAll(tcp.rows());
        rows.addAll(gds.rows());
        for (final TransportKind kind : List.of(TransportKind.IO_URING, TransportKind.POSIX)) {
            rows.add(HeapRows.row(kind, FileRows.here(kind), rig -> files.load(rig, onFile(workspace, kind))));
        }
        rows.add(HeapRows.row(TransportKind.MEMORY, Row.EVERYWHERE, rig -> memory.load(rig,
            MemoryRows.shape(HEAP_BLOCK), memory.region(rig), memory.region(rig))));
        rows.add(HeapRows.row(TransportKind.SHM, ShmRows::here,
            rig -> shm.load(rig, HEAP_BLOCK, memory.region(rig))));
        rows.add(HeapRows.row(TransportKind.TCP, Row.EVERYWHERE,
            rig -> tcp.load(rig, Direction.READ, HEAP_BLOCK, 1)));
        rows.add(HeapRows.row(TransportKind.GDS, gds::here,
            rig -> gds.load(rig, onFile(workspace, TransportKind.GDS))));
        return rows;
    }

    private static EngineLoad.Shape onFile(final Workspace workspace, final TransportKind kind) {
        return new EngineLoad.Shape(kind, Direction.READ, HEAP_BLOCK, HEAP_DEPTH, workspace.fileBytes());
    }
}
