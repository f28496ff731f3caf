package io.kvtier.store.cli;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Prints a report for people: a column of labels and a column of values, then a table of latencies; findings one a
 * line, each with its remedy below.
 */
final class ReportTable {
    private static final double US = 1_000;
    private static final double MS = 1_000_000;
    private static final double S = 1_000_000_000;
    private static final String GAP = "  ";
    /** Of the longest state, "limited". */
    private static final int STATE_WIDTH = 7;

    private ReportTable() {
    }

    static void print(final Report report, final PrintStream out) {
        findings(report.findings(), out);
        final List<List<String>> values = new ArrayList<>();
        for (final Report.Row row : report.rows()) {
            values.add(List.of(row.label(), shown(row)));
        }
        if (!values.isEmpty()) {
            grid(values, out);
        }
        if (!report.timings().isEmpty()) {
            final List<List<String>> latencies = new ArrayList<>();
            latencies.add(List.of("latency", "calls", "p50", "p90", "p99", "p99.9", "max"));
            for (final Report.Timing timing : report.timings()) {
                latencies.add(cells(timing));
            }
            out.println();
            grid(latencies, out);
        }
    }

    private static void findings(final List<Finding> findings, final PrintStream out) {
        int width = 0;
        for (final Finding finding : findings) {
            width = Math.max(width, finding.name().length());
        }
        for (final Finding finding : findings) {
            out.println(padded(finding.state().word(), STATE_WIDTH) + GAP + padded(finding.name(), width) + GAP
                + finding.found());
            if (!finding.remedy().isEmpty()) {
                out.println(" ".repeat(STATE_WIDTH) + GAP + " ".repeat(width) + GAP + "-> " + finding.remedy());
            }
        }
    }

    private static String padded(final String text, final int width) {
        return text + " ".repeat(width - text.length());
    }

    private static List<String> cells(final Report.Timing timing) {
        final Latency one = timing.latency();
        return List.of(timing.name(), count(one.count()), time(one.p50Ns()), time(one.p90Ns()), time(one.p99Ns()),
            time(one.p999Ns()), time(one.maxNs()));
    }

    private static String shown(final Report.Row row) {
        final double value = row.value();
        return switch (row.kind()) {
            case COUNT -> count((long) value);
            case BYTES -> ByteSize.shown(value);
            case RATIO -> String.format(Locale.ROOT, "%.4f", value);
            case SECONDS -> String.format(Locale.ROOT, "%.3f s", value);
            case PER_SECOND -> count(Math.round(value)) + "/s";
            case BYTES_PER_SECOND -> ByteSize.shown(value) + "/s";
        };
    }

    private static String count(final long value) {
        return String.format(Locale.ROOT, "%,d", value);
    }

    private static String time(final long ns) {
        if (ns < US) {
            return ns + " ns";
        } else if (ns < MS) {
            return String.format(Locale.ROOT, "%.1f us", ns / US);
        } else if (ns < S) {
            return String.format(Locale.ROOT, "%.1f ms", ns / MS);
        }
        return String.format(Locale.ROOT, "%.2f s", ns / S);
    }

    /** The first column is flush left, the others flush right. */
    private static void grid(final List<List<String>> rows, final PrintStream out) {
        final int columns = rows.getFirst().size();
        final int[] widths = new int[columns];
        for (final List<String> row : rows) {
            for (int i = 0; i < columns; i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        for (final List<String> row : rows) {
            final StringBuilder line = new StringBuilder();
            for (int i = 0; i < columns; i++) {
                final String padding = " ".repeat(widths[i] - row.get(i).length());
                line.append(i == 0 ? row.get(i) + padding : GAP + padding + row.get(i));
            }
            out.println(line);
        }
    }
}
