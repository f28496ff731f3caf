package io.kvtier.store.cli.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The bench of the master: small calls over RPC, and the state behind them. */
final class RpcBench {
    /** Two processes have to be compiled, the caller's and the master's. */
    private static final long WARM_UP_NANOS = TimeUnit.SECONDS.toNanos(5);

    private RpcBench() {
    }

    static Bench bench() {
        return new Bench("rpc", "Asks a master in a process of its own, beside figures recorded of Mooncake's master, "
            + "and a master in this process.", WARM_UP_NANOS, RpcBench::rows);
    }

    private static List<Row> rows(final Workspace workspace) {
        final List<Row> rows = new ArrayList<>(new RpcRows(workspace).rows());
        rows.addAll(new ConductorRows(workspace).rows());
        rows.addAll(new SnapshotRows(workspace).rows());
        return rows;
    }
}
