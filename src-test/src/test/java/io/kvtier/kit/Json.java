package io.kvtier.kit;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as maps, lists, texts, longs, doubles and booleans. */
public final class Json {
    private Json() {
    }

    /** A whole document, which is an object. */
    @SuppressWarnings("unchecked") // It is checked by its first character.
    public static Map<String, Object> object(final String text) {
        if (!text.startsWith("{")) {
            throw new AssertionError("no JSON object: " + text);
        }
        try (JsonParser json = new JsonFactory().createParser(text)) {
            json.nextToken();
            final Object value = value(json);
            if (json.nextToken() != null) {
                throw new AssertionError("there is more behind the object: " + text);
            }
            return (Map<String, Object>) value;
        } catch (final IOException e) {
            throw new AssertionError("no JSON: " + text, e);
        }
    }

    /** The objects of a list in an object. */
    @SuppressWarnings("unchecked")
    public static List<Map<String, Object>> objects(final Map<String, Object> object, final String name) {
        return (List<Map<String, Object>>) object.get(name);
    }

    private static Object value(final JsonParser json) throws IOException {
        return switch (json.currentToken()) {
            case START_OBJECT -> {
                final Map<String, Object> members = new LinkedHashMap<>();
                while (!json.nextToken().isStructEnd()) {
                    final String name = json.currentName();
                    json.nextToken();
                    members.put(name, value(json));
                }
                yield members;
            }
            case START_ARRAY -> {
                final List<Object> items = new ArrayList<>();
                while (!json.nextToken().isStructEnd()) {
                    items.add(value(json));
                }
                yield items;
            }
            case VALUE_NUMBER_INT -> json.getLongValue();
            case VALUE_NUMBER_FLOAT -> json.getDoubleValue();
            case VALUE_TRUE -> true;
            case VALUE_FALSE -> false;
            case VALUE_NULL -> null;
            default -> json.getText();
        };
    }
}
