package io.kvtier.store.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.kit.PrometheusText;
import io.kvtier.store.metrics.Families.Distribution;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What comes out of the library is what was meant: by the format's documentation, and read back by another parser. */
class FamiliesTest {
    private final Families families = new Families();

    private String text() throws IOException {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        families.write(out);
        return out.toString(StandardCharsets.UTF_8);
    }

    @Test
    void shouldWriteFamiliesAsTheFormatsDocumentationHasThem() throws IOException {
        families.counters("http_requests_total", "The total number of HTTP requests.", "code",
            Map.of("200", 1027L, "400", 3L));
        families.gauges("msdos_file_access_time_seconds", "A \"quoted\" help.", "error",
            Map.of("Cannot find file:\n\"C:\\FILE.TXT\"", 2L));
        families.gauge("metric_without_labels", -1.5, "two\nlines \\");
        families.info("program_info", "What runs.", "version", "1", "cluster", "ü");

        final String text = text();
        assertEquals("""
            # HELP http_requests_total The total number of HTTP requests.
            # TYPE http_requests_total counter
            http_requests_total{code="200"} 1027.0
            http_requests_total{code="400"} 3.0
            # HELP metric_without_labels two\\nlines \\\\
            # TYPE metric_without_labels gauge
            metric_without_labels -1.5
            # HELP msdos_file_access_time_seconds A "quoted" help.
            # TYPE msdos_file_access_time_seconds gauge
            msdos_file_access_time_seconds{error="Cannot find file:\\n\\"C:\\\\FILE.TXT\\""} 2.0
            # HELP program_info What runs.
            # TYPE program_info gauge
            program_info{cluster="ü",version="1"} 1
            """, text);
        final Map<String, PrometheusText.Family> read = PrometheusText.parse(text);
        assertEquals(2, read.get("msdos_file_access_time_seconds").value("error",
            "Cannot find file:\n\"C:\\FILE.TXT\""));
        assertEquals("two\nlines \\", read.get("metric_without_labels").help());
    }

    /** The library would write the counter {@code x} as {@code x_total}, which no dashboard looks for. */
    @ParameterizedTest
    @ValueSource(strings = {"master_put_start_discard_cnt", "master_evicted_key_count_mem", "mem_cache_hit_nums_",
        "master_evicted_size_bytes"})
    void shouldKeepANameThatNoCounterMayHave(final String name) throws IOException {
        families.counter(name, 1L << 52, "h");

        assertEquals("untyped", PrometheusText.parse(text()).get(name).type());
        assertEquals(1L << 52, PrometheusText.parse(text()).get(name).value());
    }

    @Test
    void shouldWriteHistogramsWithCountsThatAddUp() throws IOException {
        families.histograms("request_seconds", "Time.", "method", Map.of("x",
            new Distribution(new double[] {0.1, 0.5, Double.POSITIVE_INFINITY}, new long[] {3, 0, 2}, 7.25)));

        assertEquals("""
            # HELP request_seconds Time.
            # TYPE request_seconds histogram
            request_seconds_bucket{method="x",le="0.1"} 3
            request_seconds_bucket{method="x",le="0.5"} 3
            request_seconds_bucket{method="x",le="+Inf"} 5
            request_seconds_count{method="x"} 5
            request_seconds_sum{method="x"} 7.25
            """, text());
        PrometheusText.parse(text());
    }

    @Test
    void shouldLeaveOutAFamilyWithoutSamples() throws IOException {
        families.gauge("a", 1, "h");
        families.gauges("b", "h", "label", Map.of());
        families.histograms("c", "h", "label", Map.of());

        assertEquals(Map.of("a", 1.0).keySet(), PrometheusText.parse(text()).keySet());
    }

    @Test
    void shouldRefuseNamesThatWouldBeShownOtherwise() {
        assertThrows(IllegalArgumentException.class, () -> families.gauge("a-b", 1, ""));
        assertThrows(IllegalArgumentException.class, () -> families.counters("a", "", "l", Map.of("x", 1L)));
        families.gauge("a", 1, "");
        assertThrows(IllegalArgumentException.class, () -> families.gauge("a", 1, ""));
        assertThrows(IllegalArgumentException.class, () -> families.counter("a_total", 1, ""), "OpenMetrics' name");
        assertThrows(IllegalArgumentException.class, () -> families.gauges("c", "", "a-b\n", Map.of("x", 1L)));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "# HELP a x\n# TYPE a gauge\na 1", "# TYPE a gauge\na 1\n", "# HELP a x\na 1\n",
        "# HELP a x\n# TYPE a gauge\na 1\na 1\n", "# HELP a x\n# TYPE a gauge\na{b=1} 1\n",
        "# HELP a x\n# TYPE a gauge\na{b=\"1} 1\n", "# HELP a x\n# TYPE a gauge\na  1\n",
        "# HELP a x\n# TYPE a gauge\na 1,5\n", "# HELP a x\n# TYPE a gauge\na{b=\"\\q\"} 1\n",
        "# HELP a x\n# TYPE a gauge\n# HELP b x\n# TYPE b gauge\nb 1\na 1\n",
        "# HELP a x\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n",
        "# HELP a x\n# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 2\n"})
    void shouldBeJudgedByAParserThatRefusesWhatIsWrong(final String wrong) {
        assertThrows(IllegalArgumentException.class, () -> PrometheusText.parse(wrong));
    }
}
