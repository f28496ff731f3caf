package io.kvtier.store.cli.bench;

import java.io.PrintStream;
import java.util.List;
import java.util.Map;

/**
 * What came of a bench.
 *
 * <p><b>Threading:</b> immutable.
 */
public final class BenchReport {
    private final String bench;
    private final Map<String, Object> machine;
    private final List<Result> results;
    private final List<String> failures;

    BenchReport(final String bench, final Map<String, Object> machine, final List<Result> results,
        final List<String> failures) {
        this.bench = bench;
        this.machine = machine;
        this.results = List.copyOf(results);
        this.failures = List.copyOf(failures);
    }

    /**
     * For programs.
     *
     * @return one JSON object on one line.
     */
    public String json() {
        return BenchJson.of(bench, machine, results);
    }

    /**
     * For people.
     *
     * @param out where to print a table.
     */
    public void print(final PrintStream out) {
        BenchTable.print(machine, results, out);
    }

    /**
     * Rows that could not be measured although they should have been.
     *
     * @return what went wrong; empty when nothing did. A goal that was missed is no failure.
     */
    public String failure() {
        return failures.isEmpty() ? "" : failures.size() + " of " + results.size() + " rows failed: "
            + String.join("; ", failures);
    }
}
