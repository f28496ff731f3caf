package io.kvtier.store.config;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A JSON object as a flat map: nested names are joined by {@code /}, so that {@code {"a": {"b": 1}}} and
 * {@code {"a/b": 1}} are the same. Values are {@code String}, {@code Long}, {@code Double}, {@code Boolean}; a list of
 * objects is a {@code List} of such maps, any other list one of values; null is as if the name were not there.
 */
final class JsonDocument {
    private static final JsonFactory JSON =
        JsonFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();
    private static final int MAX_DEPTH = 16;

    private JsonDocument() {
    }

    /**
     * Reads a document.
     *
     * @param text   JSON.
     * @param source where it is from, for errors.
     * @throws IllegalArgumentException when it is no JSON object, or gives a name twice; with line and column.
     */
    static Map<String, Object> parse(final String text, final String source) {
        try (JsonParser parser = JSON.createParser(text)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw new IllegalArgumentException(source + ": a JSON object is expected, beginning with '{'");
            }
            final Map<String, Object> values = new LinkedHashMap<>();
            readObject(parser, "", values, 0);
            if (parser.nextToken() != null) {
                throw new IllegalArgumentException(source + ": there is more behind the end of the JSON object, "
                    + at(parser));
            }
            return values;
        } catch (final JsonProcessingException e) {
            throw new IllegalArgumentException(source + ": this is not JSON: " + e.getOriginalMessage() + ", line "
                + e.getLocation().getLineNr() + ", column " + e.getLocation().getColumnNr(), e);
        } catch (final Malformed e) {
            throw new IllegalArgumentException(source + ": " + e.getMessage(), e);
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static final class Malformed extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Malformed(final String message) {
            super(message);
        }
    }

    private static void readObject(final JsonParser parser, final String prefix, final Map<String, Object> values,
        final int depth) throws IOException {
        checkDepth(parser, depth);
        while (parser.nextToken() != JsonToken.END_OBJECT) {
            final String name = prefix + parser.currentName();
            if (parser.nextToken() == JsonToken.START_OBJECT) {
                readObject(parser, name + '/', values, depth + 1);
            } else {
                final Object value = readValue(parser, depth);
                if (value != null && values.put(name, value) != null) {
                    throw new Malformed("'" + name + "' is given twice, " + at(parser));
                }
            }
        }
    }

    private static Object readValue(final JsonParser parser, final int depth) throws IOException {
        return switch (parser.currentToken()) {
            case START_ARRAY -> readArray(parser, depth + 1);
            case START_OBJECT -> {
                final Map<String, Object> values = new LinkedHashMap<>();
                readObject(parser, "", values, depth + 1);
                yield values;
            }
            case VALUE_TRUE -> true;
            case VALUE_FALSE -> false;
            case VALUE_NUMBER_INT -> readInteger(parser);
            case VALUE_NUMBER_FLOAT -> parser.getDoubleValue();
            case VALUE_NULL -> null;
            default -> parser.getText();
        };
    }

    private static long readInteger(final JsonParser parser) throws IOException {
        if (parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
            throw new Malformed("the number " + parser.getText() + " does not fit 64 bits, " + at(parser));
        }
        return parser.getLongValue();
    }

    private static List<Object> readArray(final JsonParser parser, final int depth) throws IOException {
        checkDepth(parser, depth);
        final List<Object> values = new ArrayList<>();
        while (parser.nextToken() != JsonToken.END_ARRAY) {
            values.add(readValue(parser, depth));
        }
        return values;
    }

    private static void checkDepth(final JsonParser parser, final int depth) {
        if (depth > MAX_DEPTH) {
            throw new Malformed("it is nested more than " + MAX_DEPTH + " deep, " + at(parser));
        }
    }

    private static String at(final JsonParser parser) {
        return "line " + parser.currentLocation().getLineNr() + ", column " + parser.currentLocation().getColumnNr();
    }
}
