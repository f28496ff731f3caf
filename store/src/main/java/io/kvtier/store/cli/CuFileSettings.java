package io.kvtier.store.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * What a {@code cufile.json} says: JSON with comments, in which a number may also be a text like {@code "0x80"}.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param values every scalar, and every array's scalars in order, by its path with dots.
 */
record CuFileSettings(Map<String, List<String>> values) {
    /** What holds where no file says anything. */
    static final CuFileSettings NONE = new CuFileSettings(Map.of());

    private static final JsonFactory JSON = JsonFactory.builder().enable(JsonReadFeature.ALLOW_JAVA_COMMENTS)
        .enable(JsonReadFeature.ALLOW_TRAILING_COMMA).build();

    /**
     * Reads a file.
     *
     * @param text its bytes.
     * @return what it says; of a name that occurs twice, what it says last.
     * @throws IOException when it is not JSON, with line and column.
     */
    static CuFileSettings read(final InputStream text) throws IOException {
        final Map<String, List<String>> values = new HashMap<>();
        try (JsonParser json = JSON.createParser(text)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw new IOException("it does not start with {");
            }
            final Deque<String> path = new ArrayDeque<>();
            int depth = 1;
            while (depth > 0) {
                final JsonToken token = json.nextToken();
                if (token == null) {
                    throw new IOException("it ends too early");
                } else if (token == JsonToken.FIELD_NAME) {
                    path.addLast(json.currentName());
                } else if (token.isStructStart()) {
                    depth++;
                    start(json, token, path, values);
                } else {
                    if (token.isStructEnd()) {
                        depth--;
                    } else {
                        values.computeIfAbsent(String.join(".", path), key -> new ArrayList<>()).add(json.getText());
                    }
                    leave(json, path);
                }
            }
        }
        return new CuFileSettings(values);
    }

    private static void start(final JsonParser json, final JsonToken token, final Deque<String> path,
        final Map<String, List<String>> values) {
        if (token == JsonToken.START_ARRAY && json.getParsingContext().getParent().inObject()) {
            values.remove(String.join(".", path));
        }
    }

    /** After a value of an object its name is done with; an array's is not before the array ends. */
    private static void leave(final JsonParser json, final Deque<String> path) {
        if (json.getParsingContext().inObject()) {
            path.pollLast();
        }
    }

    /** The numbers of an array; none when it is absent or holds something else. */
    List<Long> numbers(final String name) {
        final List<Long> numbers = new ArrayList<>();
        for (final String text : values.getOrDefault(name, List.of())) {
            try {
                numbers.add(Long.decode(text.strip()));
            } catch (final NumberFormatException e) {
                return List.of();
            }
        }
        return numbers;
    }

    OptionalLong number(final String name) {
        final List<Long> numbers = numbers(name);
        return numbers.isEmpty() ? OptionalLong.empty() : OptionalLong.of(numbers.getLast());
    }

    /** Whether a switch is on; what is not said is off. */
    boolean on(final String name) {
        final List<String> said = values.getOrDefault(name, List.of());
        return !said.isEmpty() && said.getLast().equals("true");
    }

    /** Whether a switch is turned off in so many words. */
    boolean off(final String name) {
        final List<String> said = values.getOrDefault(name, List.of());
        return !said.isEmpty() && said.getLast().equals("false");
    }
}
