package io.kvtier.store.cli.bench;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/**
 * Writes the outcome of a bench for programs. The shape is a contract:
 *
 * <pre>
 *   {"bench": name, "machine": {fact: value, ...},
 *    "rows": [{"row": what, "unit": text, "ours": number, "peer": name, "peer_value": number, "ratio": number,
 *              "goal": number}, ...]}
 * </pre>
 *
 * <p>A number that could not be taken is null, and the peer's name is then followed by the reason in parentheses.
 */
final class BenchJson {
    private static final JsonFactory JSON = new JsonFactory();
    private static final MathContext DIGITS = new MathContext(5);

    private BenchJson() {
    }

    static String of(final String bench, final Map<String, Object> machine, final List<Result> results) {
        final StringWriter text = new StringWriter();
        try (JsonGenerator json = JSON.createGenerator(text)) {
            json.enable(JsonGenerator.Feature.WRITE_BIGDECIMAL_AS_PLAIN);
            json.writeStartObject();
            json.writeStringField("bench", bench);
            json.writeObjectFieldStart("machine");
            for (final Map.Entry<String, Object> fact : machine.entrySet()) {
                json.writeFieldName(fact.getKey());
                switch (fact.getValue()) {
                    case Number number -> json.writeNumber(new BigDecimal(number.toString()));
                    case Object other -> json.writeString(other.toString());
                }
            }
            json.writeEndObject();
            json.writeArrayFieldStart("rows");
            for (final Result result : results) {
                write(json, result);
            }
            json.writeEndArray();
            json.writeEndObject();
        } catch (final IOException e) {
            throw new UncheckedIOException("a string cannot be written to", e);
        }
        return text.toString();
    }

    private static void write(final JsonGenerator json, final Result result) throws IOException {
        json.writeStartObject();
        json.writeStringField("row", result.row());
        json.writeStringField("unit", result.unit().text());
        write(json, "ours", result.ours());
        json.writeStringField("peer", result.peer());
        write(json, "peer_value", result.peerValue());
        write(json, "ratio", result.ratio());
        write(json, "goal", OptionalDouble.of(result.goal()));
        json.writeEndObject();
    }

    private static void write(final JsonGenerator json, final String name, final OptionalDouble value)
        throws IOException {
        if (value.isPresent()) {
            json.writeNumberField(name, BigDecimal.valueOf(value.getAsDouble()).round(DIGITS));
        } else {
            json.writeNullField(name);
        }
    }
}
