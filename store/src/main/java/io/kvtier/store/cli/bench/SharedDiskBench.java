package io.kvtier.store.cli.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The bench of the shared disk: files that all clients mount, whose pages a master gives out. */
final class SharedDiskBench {
    /** Enough for the compiler, here and in the process of a master or an owner. */
    private static final long WARM_UP_NANOS = TimeUnit.SECONDS.toNanos(2);

    private SharedDiskBench() {
    }

    static Bench bench() {
        return new Bench("shared-disk", "Gets values from files that all clients mount (--dir), past the page cache, "
            + "beside the disk of another process read through that one, without open files kept, one read after the "
            + "other, and fio; and gives out pages of such files.", WARM_UP_NANOS, SharedDiskBench::rows);
    }

    private static List<Row> rows(final Workspace workspace) throws InterruptedException {
        final List<Row> rows = new ArrayList<>(new CrossNodeRows(workspace).rows());
        rows.addAll(new SharedReadRows(workspace, Fio.peer()).rows());
        rows.addAll(new PageRows(workspace).rows());
        return rows;
    }
}
