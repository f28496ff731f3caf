package io.kvtier.store.cli.bench;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;

/** Prints the outcome of a bench for people: the machine, then a table. A ratio below its goal is marked. */
final class BenchTable {
    private static final List<String> HEAD = List.of("row", "unit", "ours", "peer's", "ratio", "goal", "peer");
    private static final String GAP = "  ";
    private static final String NOTHING = "-";

    private BenchTable() {
    }

    static void print(final Map<String, Object> machine, final List<Result> results, final PrintStream out) {
        machine.forEach((name, value) -> out.println(name + ": " + value));
        out.println();
        final List<List<String>> rows = new ArrayList<>();
        rows.add(HEAD);
        results.forEach(result -> rows.add(List.of(result.row(), result.unit().text(), shown(result.ours()),
            shown(result.peerValue()), ratio(result), shown(OptionalDouble.of(result.goal())), result.peer())));
        final int[] widths = new int[HEAD.size()];
        for (final List<String> row : rows) {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        for (final List<String> row : rows) {
            final StringBuilder line = new StringBuilder();
            for (int i = 0; i < widths.length; i++) {
                final String padding = " ".repeat(widths[i] - row.get(i).length());
                // Names are flush left, figures flush right.
                line.append(i == 0 ? "" : GAP).append(isText(i) ? row.get(i) + padding : padding + row.get(i));
            }
            out.println(line.toString().stripTrailing());
        }
    }

    /** One row in words. */
    static String line(final Result result) {
        return result.row() + ": " + shown(result.ours()) + ' ' + result.unit().text() + ", " + result.peer() + ' '
            + shown(result.peerValue()) + ", ratio " + ratio(result) + " of " + result.goal();
    }

    private static boolean isText(final int column) {
        return column < 2 || column == HEAD.size() - 1;
    }

    private static String ratio(final Result result) {
        return result.ratio().isEmpty() ? NOTHING
            : String.format(Locale.ROOT, result.missed() ? "%.3f!" : "%.3f", result.ratio().getAsDouble());
    }

    private static String shown(final OptionalDouble value) {
        if (value.isEmpty()) {
            return NOTHING;
        }
        return String.format(Locale.ROOT, value.getAsDouble() < 100 ? "%.2f" : "%,.0f", value.getAsDouble());
    }
}
