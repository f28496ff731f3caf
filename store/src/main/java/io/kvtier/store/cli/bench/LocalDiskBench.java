package io.kvtier.store.cli.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The bench of a client's own disk: what memory sheds, what comes back, and what a start finds. */
final class LocalDiskBench {
    /** Enough for the compiler, and for the first touch of all memory. */
    private static final long WARM_UP_NANOS = TimeUnit.SECONDS.toNanos(1);

    private LocalDiskBench() {
    }

    static Bench bench() {
        return new Bench("local-disk", "Puts more than memory holds, which goes on to the store's own disk as fast as "
            + "that takes it, beside fio and beside a timer of 10 s; stores and loads values by each backend, beside "
            + "fio and a plain file a key; opens a disk of many values (--objects).", WARM_UP_NANOS,
            LocalDiskBench::rows);
    }

    private static List<Row> rows(final Workspace workspace) throws InterruptedException {
        final Peer fio = Fio.peer();
        final List<Row> rows = new ArrayList<>(new SustainedRows(workspace, fio).rows());
        rows.addAll(new BackendRows(workspace, fio).rows());
        rows.addAll(new RecoveryRows(workspace).rows());
        return rows;
    }
}
