package io.kvtier.store.cli.bench;

import java.util.List;

/**
 * Rows that are measured under one name.
 *
 * <p><b>Threading:</b> immutable.
 */
public final class Bench {
    private final String name;
    private final String description;
    private final long warmUpNanos;
    private final RowSource rows;

    /** Names the rows of a bench. */
    @FunctionalInterface
    interface RowSource {
        List<Row> rows(Workspace workspace) throws InterruptedException;
    }

    Bench(final String name, final String description, final long warmUpNanos, final RowSource rows) {
        this.name = name;
        this.description = description;
        this.warmUpNanos = warmUpNanos;
        this.rows = rows;
    }

    /**
     * Every bench there is.
     *
     * @return in the order in which they are listed.
     */
    public static List<Bench> all() {
        return List.of(TransferBench.bench(), RpcBench.bench(), KvBench.bench(), GdsBench.bench(),
            LocalDiskBench.bench(), SharedDiskBench.bench());
    }

    /**
     * Its name on the command line.
     *
     * @return one word.
     */
    public String name() {
        return name;
    }

    /**
     * What it measures.
     *
     * @return a sentence or two.
     */
    public String description() {
        return description;
    }

    /** How long each side of a row runs before it is measured. */
    long warmUpNanos() {
        return warmUpNanos;
    }

    /** Its rows in order; nothing is made or opened before a row is. */
    List<Row> rows(final Workspace workspace) throws InterruptedException {
        return rows.rows(workspace);
    }
}
