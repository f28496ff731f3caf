package io.kvtier.store.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.List;

/**
 * Writes the outcome of a command for programs: one JSON object on one line. {@code status} is {@code done} or
 * {@code failed}; a failure has {@code error} and, of the report, only findings. Latencies are in nanoseconds.
 */
final class ReportJson {
    private static final JsonFactory JSON = new JsonFactory();
    private static final int RATIO_DECIMALS = 4;
    private static final int DECIMALS = 3;

    private ReportJson() {
    }

    /** A part of a document. */
    private interface Body {
        void write(JsonGenerator json) throws IOException;
    }

    static String of(final Report report) {
        return object(json -> {
            json.writeStringField("command", report.command());
            json.writeStringField("status", report.failure().isEmpty() ? "done" : "failed");
            if (!report.failure().isEmpty()) {
                json.writeStringField("error", report.failure());
            }
            if (!report.findings().isEmpty()) {
                writeFindings(json, report.findings());
                return;
            }
            for (final Report.Row row : report.rows()) {
                writeValue(json, row);
            }
            json.writeObjectFieldStart("latency_ns");
            for (final Report.Timing timing : report.timings()) {
                writeLatency(json, timing);
            }
            json.writeEndObject();
        });
    }

    static String failed(final String command, final String error) {
        return object(json -> {
            json.writeStringField("command", command);
            json.writeStringField("status", "failed");
            json.writeStringField("error", error);
        });
    }

    private static void writeFindings(final JsonGenerator json, final List<Finding> findings) throws IOException {
        json.writeArrayFieldStart("findings");
        for (final Finding finding : findings) {
            json.writeStartObject();
            json.writeStringField("name", finding.name());
            json.writeStringField("state", finding.state().word());
            json.writeStringField("found", finding.found());
            json.writeStringField("remedy", finding.remedy());
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static void writeValue(final JsonGenerator json, final Report.Row row) throws IOException {
        switch (row.kind()) {
            case COUNT, BYTES -> json.writeNumberField(row.name(), (long) row.value());
            case RATIO -> json.writeNumberField(row.name(), decimal(row.value(), RATIO_DECIMALS));
            default -> json.writeNumberField(row.name(), decimal(row.value(), DECIMALS));
        }
    }

    private static void writeLatency(final JsonGenerator json, final Report.Timing timing) throws IOException {
        final Latency latency = timing.latency();
        json.writeObjectFieldStart(timing.name());
        json.writeNumberField("count", latency.count());
        json.writeNumberField("p50", latency.p50Ns());
        json.writeNumberField("p90", latency.p90Ns());
        json.writeNumberField("p99", latency.p99Ns());
        json.writeNumberField("p999", latency.p999Ns());
        json.writeNumberField("max", latency.maxNs());
        json.writeEndObject();
    }

    private static BigDecimal decimal(final double value, final int decimals) {
        return BigDecimal.valueOf(value).setScale(decimals, RoundingMode.HALF_UP);
    }

    private static String object(final Body body) {
        final StringWriter text = new StringWriter();
        try (JsonGenerator json = JSON.createGenerator(text)) {
            json.enable(JsonGenerator.Feature.WRITE_BIGDECIMAL_AS_PLAIN);
            json.writeStartObject();
            body.write(json);
            json.writeEndObject();
        } catch (final IOException e) {
            throw new UncheckedIOException("a string cannot be written to", e);
        }
        return text.toString();
    }
}
