package io.kvtier.store.cli.bench;

import io.kvtier.bindings.Availability;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.function.Consumer;

/**
 * Measures the rows of a bench one after the other. The two sides of a row are warmed up and then take turns, each
 * going first every other time, so that a drift of the machine hits both alike; the medians count.
 *
 * <p>A row that fails says why in its place, and the others go on.
 *
 * <p><b>Threading:</b> one thread, once. <b>Blocking:</b> for rows × 2 × (runs + 1) × seconds.
 */
public final class BenchRun {
    /** Measurements so short that nobody looks at their figures are not to wait for it. */
    private static final int MOST_WARM_UP = 10;

    private final Bench bench;
    private final BenchSettings settings;
    private final Workspace workspace;
    private final Map<String, Object> machine;
    private final Consumer<String> progress;
    private final List<String> failures = new ArrayList<>();

    /**
     * Prepares a run.
     *
     * @param bench     what to measure.
     * @param settings  how.
     * @param workspace where.
     * @param machine   what is known of the machine, for the report.
     * @param progress  takes a line for each row.
     */
    public BenchRun(final Bench bench, final BenchSettings settings, final Workspace workspace,
        final Map<String, Object> machine, final Consumer<String> progress) {
        this.bench = bench;
        this.settings = settings;
        this.workspace = workspace;
        this.machine = new LinkedHashMap<>(machine);
        this.progress = progress;
    }

    /**
     * Measures.
     *
     * @return what came of it.
     * @throws IOException          when no row has a name as wanted.
     * @throws InterruptedException when the thread was interrupted.
     */
    public BenchReport run() throws IOException, InterruptedException {
        final List<Row> all = bench.rows(workspace);
        final List<Row> rows = all.stream().filter(row -> settings.rows().matcher(row.name()).find()).toList();
        if (rows.isEmpty()) {
            throw new IOException("no row of bench " + bench.name() + " matches '" + settings.rows()
                + "'; rows have names such as '" + all.getFirst().name() + "'");
        }
        final List<Result> results = new ArrayList<>();
        for (final Row row : rows) {
            if (row.peer().isProgram()) {
                machine.put(row.peer().name(), row.peer().availability().reason());
            }
            final Result result = result(row);
            results.add(result);
            progress.accept(String.format(Locale.ROOT, "[%d/%d] %s", results.size(), rows.size(),
                BenchTable.line(result)));
        }
        return new BenchReport(bench.name(), machine, results, failures);
    }

    private Result result(final Row row) throws InterruptedException {
        final Availability here = row.ours().get();
        if (!here.available()) {
            return Result.missing(row, here.reason() + (here.remedy().isEmpty() ? "" : "; " + here.remedy()));
        }
        try (Contest contest = row.opener().open()) {
            return measured(row, contest);
        } catch (final IOException | RuntimeException e) {
            if (Programs.areBeingEnded()) {
                // The programs and files of the row went first: what failed then is no result.
                throw new InterruptedException("the process is being ended");
            }
            final String why = e.getMessage() == null ? e.toString() : e.getMessage();
            failures.add(row.name() + ": " + why);
            return Result.missing(row, why);
        }
    }

    private Result measured(final Row row, final Contest contest) throws IOException, InterruptedException {
        final boolean both = row.peer().availability().available();
        final long nanos = settings.nanos();
        final double[] ours = new double[settings.runs()];
        final double[] peer = new double[settings.runs()];
        final long warmUp = Math.min(nanos * MOST_WARM_UP, bench.warmUpNanos());
        contest.ours().take(warmUp);
        if (both) {
            contest.peer().take(warmUp);
        }
        for (int run = 0; run < ours.length; run++) {
            if (both && run % 2 != 0) {
                peer[run] = contest.peer().take(nanos);
            }
            ours[run] = contest.ours().take(nanos);
            if (both && run % 2 == 0) {
                peer[run] = contest.peer().take(nanos);
            }
        }
        return Result.measured(row, median(ours), both ? OptionalDouble.of(median(peer)) : OptionalDouble.empty());
    }

    /** The middle one, or the mean of the two in the middle. */
    static double median(final double... values) {
        final double[] sorted = values.clone();
        Arrays.sort(sorted);
        return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }
}
