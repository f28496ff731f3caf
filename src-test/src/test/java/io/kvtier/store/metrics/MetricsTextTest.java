package io.kvtier.store.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.kit.PrometheusText;
import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The text format: by the example of its documentation, and read back by a parser of its own. */
class MetricsTextTest {
    private final StringBuilder out = new StringBuilder();
    private final MetricsText text = new MetricsText(out);

    @Test
    void shouldWriteFamiliesAsTheFormatsDocumentationHasThem() throws IOException {
        text.family("http_requests_total", MetricsText.Type.COUNTER, "The total number of HTTP requests.")
            .sample(1027, "method", "post", "code", "200").sample(3, "method", "post", "code", "400");
        text.family("msdos_file_access_time_seconds", MetricsText.Type.GAUGE, "A \"quoted\" help.")
            .sample(1.5, "path", "C:\\DIR\\FILE.TXT", "error", "Cannot find file:\n\"FILE.TXT\"");
        text.family("metric_without_labels", MetricsText.Type.GAUGE, "two\nlines \\").sample(-12)
            .sample(Double.POSITIVE_INFINITY, "a", "").sample(Double.NEGATIVE_INFINITY, "a", "b");

        assertEquals("""
            # HELP http_requests_total The total number of HTTP requests.
            # TYPE http_requests_total counter
            http_requests_total{method="post",code="200"} 1027
            http_requests_total{method="post",code="400"} 3
            # HELP msdos_file_access_time_seconds A "quoted" help.
            # TYPE msdos_file_access_time_seconds gauge
            msdos_file_access_time_seconds{path="C:\\\\DIR\\\\FILE.TXT",error="Cannot find file:\\n\\"FILE.TXT\\""} 1.5
            # HELP metric_without_labels two\\nlines \\\\
            # TYPE metric_without_labels gauge
            metric_without_labels -12
            metric_without_labels{a=""} +Inf
            metric_without_labels{a="b"} -Inf
            """, out.toString());
        final Map<String, PrometheusText.Family> read = PrometheusText.parse(out.toString());
        assertEquals(1.5, read.get("msdos_file_access_time_seconds").samples()
            .get(Map.of("path", "C:\\DIR\\FILE.TXT", "error", "Cannot find file:\n\"FILE.TXT\"")));
        assertEquals("two\nlines \\", read.get("metric_without_labels").help());
    }

    @Test
    void shouldWriteHistogramsWithCountsThatAddUp() throws IOException {
        text.family("request_seconds", MetricsText.Type.HISTOGRAM, "Time.");
        text.histogram(new double[] {0.1, 0.5}, new long[] {3, 0, 2}, 7.25, "method", "x");

        assertEquals("""
            # HELP request_seconds Time.
            # TYPE request_seconds histogram
            request_seconds_bucket{method="x",le="0.1"} 3
            request_seconds_bucket{method="x",le="0.5"} 3
            request_seconds_bucket{method="x",le="+Inf"} 5
            request_seconds_sum{method="x"} 7.25
            request_seconds_count{method="x"} 5
            """, out.toString());
        PrometheusText.parse(out.toString());
    }

    @Test
    void shouldRefuseNamesThatPrometheusWouldRefuse() throws IOException {
        assertThrows(IllegalArgumentException.class, () -> text.family("a-b", MetricsText.Type.GAUGE, ""));
        text.family("a", MetricsText.Type.GAUGE, "");
        assertThrows(IllegalArgumentException.class, () -> text.family("a", MetricsText.Type.GAUGE, ""));
        assertThrows(IllegalArgumentException.class, () -> text.sample(1, "1b", ""));
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
