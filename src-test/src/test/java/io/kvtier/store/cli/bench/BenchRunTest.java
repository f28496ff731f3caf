package io.kvtier.store.cli.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.Availability;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class BenchRunTest {
    private final List<String> events = new ArrayList<>();
    private final List<String> progress = new ArrayList<>();

    /** A row whose two sides give figures one after the other; the first of each is the warm-up's. */
    private Row row(final String name, final Unit unit, final Peer peer, final double[] ours, final double[] theirs) {
        final Deque<Double> left = queue(ours);
        final Deque<Double> leftOfPeer = queue(theirs);
        return new Row(name, unit, peer, 0.9, Row.EVERYWHERE, () -> Rig.with(rig -> {
            rig.keep("closed", events::add);
            return new Contest(rig, nanos -> {
                events.add("ours " + nanos);
                return left.removeFirst();
            }, nanos -> {
                events.add("peer " + nanos);
                return leftOfPeer.removeFirst();
            });
        }));
    }

    private static Deque<Double> queue(final double... values) {
        return new ArrayDeque<>(Arrays.stream(values).boxed().toList());
    }

    private BenchReport run(final int runs, final String pattern, final Row... rows)
        throws IOException, InterruptedException {
        final Bench bench = new Bench("made-up", "", 1_000_000_000, workspace -> List.of(rows));
        return new BenchRun(bench, new BenchSettings(3, runs, Pattern.compile(pattern)),
            new Workspace(Path.of(""), 0, 0, (memory, number) -> { }, List.of()), Map.of("cores", 2), progress::add)
            .run();
    }

    @Test
    void shouldWarmUpTakeTurnsAndReportMedians() throws IOException, InterruptedException {
        final BenchReport report = run(3, "", row("copy", Unit.MIB_PER_SECOND, Peer.builtIn("loop"),
            new double[] {1, 90, 100, 70}, new double[] {1, 80, 120, 110}));

        assertEquals(List.of("ours 1000000000", "peer 1000000000", "ours 3000000000", "peer 3000000000",
            "peer 3000000000", "ours 3000000000", "ours 3000000000", "peer 3000000000", "closed"), events);
        assertEquals("{\"bench\":\"made-up\",\"machine\":{\"cores\":2},\"rows\":[{\"row\":\"copy\",\"unit\":\"MiB/s\","
            + "\"ours\":90.0,\"peer\":\"loop\",\"peer_value\":110.0,\"ratio\":0.81818,\"goal\":0.9}]}", report.json());
        assertEquals("", report.failure());
        assertEquals(List.of("[1/1] copy: 90.00 MiB/s, loop 110, ratio 0.818! of 0.9"), progress);
    }

    @ParameterizedTest
    @CsvSource({"MIB_PER_SECOND, 50, 100, 0.5", "NANOSECONDS, 50, 100, 2", "NANOSECONDS, 400, 100, 0.25",
        "BYTES, 128, 64, 0.5"})
    void shouldMakeABiggerRatioTheBetterOne(final Unit unit, final double ours, final double peer,
        final double ratio) {
        final Row row = row("row", unit, Peer.builtIn("peer"), new double[0], new double[0]);
        assertEquals(OptionalDouble.of(ratio), Result.measured(row, ours, OptionalDouble.of(peer)).ratio());
    }

    @ParameterizedTest
    @CsvSource({"3;1;2, 2", "4;1;2;9, 3", "5, 5"})
    void shouldTakeTheMiddle(final String values, final double median) {
        assertEquals(median, BenchRun.median(Arrays.stream(values.split(";")).mapToDouble(Double::parseDouble)
            .toArray()));
    }

    @Test
    void shouldNameThePackageOfAPeerThatIsNotInstalled() throws IOException, InterruptedException {
        final BenchReport report = run(1, "", row("copy", Unit.MIB_PER_SECOND,
            Peer.program("kvtier-no-such-program", "some-package"), new double[] {1, 90}, new double[0]));

        assertEquals("{\"bench\":\"made-up\",\"machine\":{\"cores\":2},\"rows\":[{\"row\":\"copy\",\"unit\":\"MiB/s\","
            + "\"ours\":90.0,\"peer\":\"kvtier-no-such-program (not installed: Debian package some-package)\","
            + "\"peer_value\":null,\"ratio\":null,\"goal\":0.9}]}", report.json());
        assertEquals("", report.failure());
    }

    @Test
    void shouldNameTheVersionOfAPeerThatIsAProgram() throws IOException, InterruptedException {
        final Peer peer = Peer.program("bash", "bash");
        assertTrue(peer.availability().reason().startsWith("GNU bash, version "), peer::toString);
        final String json = run(1, "", row("copy", Unit.BYTES, peer, new double[] {1, 1}, new double[] {1, 1})).json();
        assertTrue(json.contains("\"bash\":\"GNU bash, version "), json);
    }

    @Test
    void shouldSayWhyATransportIsNotHere() throws IOException, InterruptedException {
        final BenchReport report = run(1, "", new Row("gpu", Unit.MIB_PER_SECOND, Peer.builtIn("direct"), 0.97,
            () -> Availability.no("there is no GPU", "use a machine with one"), () -> {
                throw new AssertionError("must not be opened");
            }));

        assertEquals("{\"bench\":\"made-up\",\"machine\":{\"cores\":2},\"rows\":[{\"row\":\"gpu\",\"unit\":\"MiB/s\","
            + "\"ours\":null,\"peer\":\"direct (not run: there is no GPU; use a machine with one)\","
            + "\"peer_value\":null,\"ratio\":null,\"goal\":0.97}]}", report.json());
        assertEquals("", report.failure());
    }

    @Test
    void shouldGoOnAfterARowThatFailsAndFailInTheEnd() throws IOException, InterruptedException {
        final Row failing = new Row("bad", Unit.BYTES, Peer.builtIn("peer"), 1, Row.EVERYWHERE, () -> Rig.with(rig -> {
            rig.keep("closed bad", events::add);
            throw new IOException("the disk is on fire");
        }));
        final BenchReport report = run(1, "", failing, row("good", Unit.BYTES, Peer.builtIn("limit"),
            new double[] {8, 8}, new double[] {64, 64}));

        assertEquals("closed bad", events.getFirst());
        assertEquals("closed", events.getLast());
        assertEquals("1 of 2 rows failed: bad: the disk is on fire", report.failure());
        assertTrue(report.json().contains("\"peer\":\"peer (not run: the disk is on fire)\""), report.json());
        assertTrue(report.json().contains("\"ratio\":8.0"), report.json());
    }

    @Test
    void shouldRunTheRowsInWhoseNameThePatternIsFound() throws IOException, InterruptedException {
        final double[] figures = {1, 1};
        final BenchReport report = run(1, "^b|d$", row("ab", Unit.BYTES, Peer.builtIn("p"), figures, figures),
            row("ba", Unit.BYTES, Peer.builtIn("p"), figures, figures),
            row("cd", Unit.BYTES, Peer.builtIn("p"), figures, figures));

        assertEquals(List.of("ba", "cd"), report.json().lines().flatMap(line -> Pattern.compile("\"row\":\"(\\w+)\"")
            .matcher(line).results().map(found -> found.group(1))).toList());
        final IOException none = assertThrows(IOException.class, () -> run(1, "x", row("ab", Unit.BYTES,
            Peer.builtIn("p"), figures, figures)));
        assertEquals("no row of bench made-up matches 'x'; rows have names such as 'ab'", none.getMessage());
    }

    @Test
    void shouldEndAProgramWithTheThreadThatWaitsForIt() throws InterruptedException, IOException {
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> Programs.run("sh", "-c", "exec >&- 2>&-; exec sleep 600"));
        assertEquals(new Programs.Output(7, "both\nstreams\n"),
            Programs.run("sh", "-c", "echo both; echo streams >&2; exit 7"));
    }
}
