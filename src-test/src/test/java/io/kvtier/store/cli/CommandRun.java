package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.kvtier.store.Store;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToIntFunction;

/** A command that was run in this JVM, as on a machine without a terminal: what it printed and its exit status. */
record CommandRun(int status, String out, String err) {
    static CommandRun of(final String... arguments) {
        return of(Store::open, arguments);
    }

    static CommandRun of(final StoreOpener opener, final String... arguments) {
        return of(console -> Main.run(console, opener, arguments));
    }

    static CommandRun of(final ToIntFunction<Console> command) {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        final ByteArrayOutputStream err = new ByteArrayOutputStream();
        final int status;
        try (PrintStream outStream = new PrintStream(out, true, StandardCharsets.UTF_8);
             PrintStream errStream = new PrintStream(err, true, StandardCharsets.UTF_8)) {
            status = command.applyAsInt(new Console(outStream, errStream, false));
        }
        return new CommandRun(status, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }

    /** The same, when nothing but success will do. */
    CommandRun done() {
        assertEquals(0, status, () -> "status " + status + "\n" + out + err);
        return this;
    }

    /** The last line of standard output as JSON; inner objects and arrays are flattened with dots. */
    Map<String, Object> json() {
        final List<String> lines = out.lines().toList();
        final Map<String, Object> values = new HashMap<>();
        try (JsonParser json = new JsonFactory().createParser(lines.getLast())) {
            assertEquals(JsonToken.START_OBJECT, json.nextToken());
            readObject(json, "", values);
            assertEquals(null, json.nextToken(), "nothing follows the object");
        } catch (final IOException e) {
            throw new UncheckedIOException(lines.getLast(), e);
        }
        return values;
    }

    private static void readObject(final JsonParser json, final String prefix, final Map<String, Object> values)
        throws IOException {
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            final String name = prefix + json.currentName();
            json.nextToken();
            readValue(json, name, values);
        }
    }

    private static void readValue(final JsonParser json, final String name, final Map<String, Object> values)
        throws IOException {
        switch (json.currentToken()) {
            case START_OBJECT -> readObject(json, name + '.', values);
            case START_ARRAY -> {
                for (int i = 0; json.nextToken() != JsonToken.END_ARRAY; i++) {
                    readValue(json, name + '.' + i, values);
                }
            }
            case VALUE_NUMBER_INT -> values.put(name, json.getLongValue());
            case VALUE_NUMBER_FLOAT -> values.put(name, json.getDoubleValue());
            case VALUE_STRING -> values.put(name, json.getText());
            case VALUE_NULL -> values.put(name, null);
            default -> throw new IllegalStateException(name + " is " + json.currentToken());
        }
    }
}
