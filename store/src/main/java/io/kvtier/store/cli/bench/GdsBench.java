package io.kvtier.store.cli.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The bench of GDS offload: whole values to and from a file of the store's own. */
final class GdsBench {
    /** Enough for the compiler, and for the first touch of all memory. */
    private static final long WARM_UP_NANOS = TimeUnit.SECONDS.toNanos(1);

    private GdsBench() {
    }

    static Bench bench() {
        return new Bench("gds", "Puts and gets batches of values in a store's file for GDS offload, from memory of the "
            + "host beside fio, from memory of a GPU beside cuFile and beside the way through the host.",
            WARM_UP_NANOS, GdsBench::rows);
    }

    private static List<Row> rows(final Workspace workspace) throws InterruptedException {
        final List<Row> rows = new ArrayList<>(new OffloadRows(workspace, Fio.peer()).rows());
        rows.addAll(new GpuOffloadRows(workspace).rows());
        return rows;
    }
}
