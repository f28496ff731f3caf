package io.kvtier.store.cli;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/**
 * What a command found out: named values in order, then latencies, or findings with a verdict. {@link ReportTable}
 * shows it to people and {@link ReportJson} to programs, so that both always say the same.
 *
 * <p><b>Threading:</b> one thread.
 */
final class Report implements Outcome {
    private final String command;
    private final List<Row> rows = new ArrayList<>();
    private final List<Timing> timings = new ArrayList<>();
    private final List<Finding> findings = new ArrayList<>();
    private String failure = "";

    Report(final String command) {
        this.command = command;
    }

    /** What kind of number a value is; decides how it is shown. */
    enum Kind {
        /** So many of something. */
        COUNT,
        /** So many bytes. */
        BYTES,
        /** A share, from 0 to 1, with four decimals. */
        RATIO,
        /** Seconds, with three decimals. */
        SECONDS,
        /** So many of something a second. */
        PER_SECOND,
        /** So many bytes a second. */
        BYTES_PER_SECOND
    }

    /**
     * One value.
     *
     * @param name  its name for programs.
     * @param label its name for people.
     * @param kind  what it is.
     * @param value the value.
     */
    record Row(String name, String label, Kind kind, double value) {
    }

    /**
     * The latencies of one operation.
     *
     * @param name    the operation.
     * @param latency how long it took.
     */
    record Timing(String name, Latency latency) {
    }

    String command() {
        return command;
    }

    List<Row> rows() {
        return List.copyOf(rows);
    }

    List<Timing> timings() {
        return List.copyOf(timings);
    }

    List<Finding> findings() {
        return List.copyOf(findings);
    }

    @Override
    public String json() {
        return ReportJson.of(this);
    }

    @Override
    public void print(final PrintStream out) {
        ReportTable.print(this, out);
    }

    @Override
    public String failure() {
        return failure;
    }

    Report finding(final Finding finding) {
        findings.add(finding);
        return this;
    }

    Report failed(final String why) {
        failure = why;
        return this;
    }

    Report count(final String name, final String label, final long value) {
        return row(name, label, Kind.COUNT, value);
    }

    Report bytes(final String name, final String label, final long value) {
        return row(name, label, Kind.BYTES, value);
    }

    /** A share of nothing is 0, so that what is printed is always a number. */
    Report ratio(final String name, final String label, final long part, final long whole) {
        return row(name, label, Kind.RATIO, whole == 0 ? 0 : (double) part / whole);
    }

    Report seconds(final String name, final String label, final double value) {
        return row(name, label, Kind.SECONDS, value);
    }

    Report rate(final String name, final String label, final Kind kind, final long amount, final double seconds) {
        return row(name, label, kind, seconds > 0 ? amount / seconds : 0);
    }

    Report latency(final String name, final Latency latency) {
        timings.add(new Timing(name, latency));
        return this;
    }

    private Report row(final String name, final String label, final Kind kind, final double value) {
        rows.add(new Row(name, label, kind, value));
        return this;
    }
}
