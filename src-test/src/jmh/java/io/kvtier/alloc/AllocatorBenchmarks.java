package io.kvtier.alloc;

import io.kvtier.alloc.extent.ExtentBenchmark;
import io.kvtier.alloc.page.PageBenchmark;
import java.util.Map;
import java.util.TreeMap;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Runs every row of the allocators against its peer, on one thread and on two, and prints a table. */
public final class AllocatorBenchmarks {
    private AllocatorBenchmarks() {
    }

    /** Takes a few minutes; an argument restricts it to benchmarks whose name has it. */
    public static void main(final String[] arguments) throws RunnerException {
        final String only = arguments.length > 0 ? arguments[0] : "";
        System.out.printf("%-42s %10s %10s %6s %5s %8s%n", "nanoseconds for a thread's pass", "ours", "mutex", "ratio",
            "goal", "B/pass");
        for (int threads = 1; threads <= 2; threads++) {
            for (final Class<?> benchmark : new Class<?>[] {PageBenchmark.class, ExtentBenchmark.class}) {
                if (benchmark.getSimpleName().contains(only)) {
                    print(run(benchmark, threads));
                }
            }
        }
    }

    private static void print(final Map<String, double[]> rows) {
        rows.forEach((name, row) -> System.out.printf("%-42s %10.0f %10.0f %6.2f %5.1f %8.1f%n", name, row[0], row[1],
            row[1] / row[0], name.endsWith("1") ? 1.0 : 1.5, row[2]));
    }

    private static Map<String, double[]> run(final Class<?> benchmark, final int threads) throws RunnerException {
        final Map<String, double[]> rows = new TreeMap<>();
        final var options = new OptionsBuilder().include(benchmark.getSimpleName()).threads(threads)
            .addProfiler(GCProfiler.class).verbosity(VerboseMode.SILENT).build();
        for (final RunResult result : new Runner(options).run()) {
            final String full = result.getParams().getParam("full");
            final String name = benchmark.getSimpleName().replace("Benchmark", "") + " "
                + result.getPrimaryResult().getLabel() + (full == null ? "" : " " + full + " % full") + ", threads "
                + threads;
            final double[] row = rows.computeIfAbsent(name, key -> new double[3]);
            final boolean ours = "ours".equals(result.getParams().getParam("kind"));
            row[ours ? 0 : 1] = result.getPrimaryResult().getScore();
            if (ours) {
                row[2] = result.getSecondaryResults().get("gc.alloc.rate.norm").getScore();
            }
        }
        return rows;
    }
}
