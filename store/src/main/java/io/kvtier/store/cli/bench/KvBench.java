package io.kvtier.store.cli.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The bench of the store: whole puts and gets. */
final class KvBench {
    /** Three processes have to be compiled, and all memory touched for the first time. */
    private static final long WARM_UP_NANOS = TimeUnit.SECONDS.toNanos(3);

    private KvBench() {
    }

    static Bench bench() {
        return new Bench("kv", "Puts and gets values in the memory of another process, beside Redis and figures "
            + "recorded of Mooncake's store, and in this process, beside plain copies.", WARM_UP_NANOS, KvBench::rows);
    }

    private static List<Row> rows(final Workspace workspace) throws InterruptedException {
        final List<Row> rows = new ArrayList<>(new KvRows(workspace, Redis.peer()).rows());
        rows.addAll(new EmbeddedRows(workspace).rows());
        return rows;
    }
}
