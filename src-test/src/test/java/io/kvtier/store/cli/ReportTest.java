package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.TypeConversionException;

final class ReportTest {
    private static final Report REPORT = new Report("test")
        .count("things", "things counted", 1_234_567)
        .bytes("moved", "bytes moved", 65_536)
        .ratio("share", "share", 2, 3)
        .ratio("of_nothing", "share of nothing", 0, 0)
        .rate("speed", "speed", Report.Kind.PER_SECOND, 100, 8)
        .seconds("time", "time", 12.3456)
        .latency("get", new Latency(5, 999, 1_500, 2_500_000, 3_000_000_000L, 4_000_000_000L));

    @Test
    void shouldAlignLabelsLeftAndValuesRight() {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        ReportTable.print(REPORT, new PrintStream(bytes, true, StandardCharsets.UTF_8));
        assertEquals("""
            things counted    1,234,567
            bytes moved        64.0 KiB
            share                0.6667
            share of nothing     0.0000
            speed                  13/s
            time               12.346 s

            latency  calls     p50     p90     p99   p99.9     max
            get          5  999 ns  1.5 us  2.5 ms  3.00 s  4.00 s
            """, bytes.toString(StandardCharsets.UTF_8).replace("\r", ""));
    }

    @Test
    void shouldWriteOneLineOfJsonThatParsesBack() {
        final String line = ReportJson.of(REPORT);
        final Map<String, Object> json = new CommandRun(0, "a remark\n" + line + '\n', "").json();
        assertEquals(1, line.lines().count());
        assertEquals("test", json.get("command"));
        assertEquals("done", json.get("status"));
        assertEquals(1_234_567L, json.get("things"));
        assertEquals(65_536L, json.get("moved"));
        assertEquals(0.6667, json.get("share"));
        assertEquals(12.346, json.get("time"));
        assertEquals(12.5, json.get("speed"));
        assertEquals(999L, json.get("latency_ns.get.p50"));
        assertEquals(4_000_000_000L, json.get("latency_ns.get.max"));
    }

    @Test
    void shouldEscapeAnErrorInJson() {
        final Map<String, Object> json = new CommandRun(1, ReportJson.failed("demo", "a \"b\"\nc\\"), "").json();
        assertEquals(Map.of("command", "demo", "status", "failed", "error", "a \"b\"\nc\\"), json);
    }

    @Test
    void shouldAddUpWhatSeveralThreadsMeasured() {
        final LatencyRecorder one = new LatencyRecorder();
        final LatencyRecorder two = new LatencyRecorder();
        for (int i = 1; i <= 50; i++) {
            one.record(i);
            two.record(50 + i);
        }
        two.record(Long.MAX_VALUE);
        one.add(two);
        final Latency latency = one.summary();
        assertEquals(101, latency.count());
        assertEquals(51, latency.p50Ns());
        assertEquals(100, latency.p99Ns());
        assertTrue(latency.maxNs() >= 3_600_000_000_000L, "more than an hour counts as an hour");
    }

    @ParameterizedTest
    @CsvSource({"0,0", "4097,4097", "64K,65536", "64k,65536", "1M,1048576", "2GiB,2147483648", "3TB,3298534883328"})
    void shouldReadSizesWithUnits(final String text, final long bytes) {
        assertEquals(bytes, ByteSize.parse(text));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "-1", "1.5G", "64Q", "K", "9999999999999999999", "99999999T"})
    void shouldRefuseOtherSizesWithTheirValue(final String text) {
        final String message = assertThrows(TypeConversionException.class, () -> ByteSize.parse(text)).getMessage();
        assertTrue(message.contains('\'' + text + '\''), message);
    }
}
