package io.kvtier.store.admin;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.io.InputStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a request says: parameters of the query part, and of a body that is one flat JSON object. A parameter that the
 * page does not know is an error, so that a misspelt one is not passed over.
 *
 * <p><b>Threading:</b> for one thread.
 */
final class AdminRequest {
    /** Largest body. */
    static final int MAX_BODY = 1 << 20;

    private static final JsonFactory JSON =
        JsonFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();

    private final String method;
    private final Map<String, List<String>> parameters;
    /** Parameters that were given as a JSON list, whose texts are names as they are. */
    private final Set<String> lists;

    private AdminRequest(final String method, final Map<String, List<String>> parameters, final Set<String> lists) {
        this.method = method;
        this.parameters = parameters;
        this.lists = lists;
    }

    /** Reads a request, its body included. */
    static AdminRequest of(final HttpExchange exchange) throws IOException {
        final Map<String, List<String>> parameters = new LinkedHashMap<>();
        final Set<String> lists = new HashSet<>();
        readQuery(exchange.getRequestURI().getRawQuery(), parameters);
        final byte[] body;
        try (InputStream in = exchange.getRequestBody()) {
            body = in.readNBytes(MAX_BODY + 1);
        }
        if (body.length > MAX_BODY) {
            throw new HttpFailure(HttpFailure.TOO_LARGE, "the body is longer than " + MAX_BODY + " bytes");
        }
        if (body.length > 0) {
            readBody(body, parameters, lists);
        }
        return new AdminRequest(exchange.getRequestMethod(), parameters, lists);
    }

    private static void readQuery(final String query, final Map<String, List<String>> parameters) {
        if (query == null) {
            return;
        }
        for (final String part : query.split("&")) {
            final int equals = part.indexOf('=');
            if (!part.isEmpty()) {
                add(parameters, decode(equals < 0 ? part : part.substring(0, equals)),
                    List.of(equals < 0 ? "" : decode(part.substring(equals + 1))));
            }
        }
    }

    private static String decode(final String text) {
        try {
            return URLDecoder.decode(text, StandardCharsets.UTF_8);
        } catch (final IllegalArgumentException e) {
            throw bad("'" + text + "' in the query is not percent-encoded: " + e.getMessage());
        }
    }

    private static void readBody(final byte[] body, final Map<String, List<String>> parameters,
        final Set<String> lists) throws IOException {
        try (JsonParser json = JSON.createParser(body)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw bad("the body must be a JSON object");
            }
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                final String name = json.currentName();
                if (json.nextToken() == JsonToken.START_ARRAY) {
                    lists.add(name);
                }
                add(parameters, name, values(json, name));
            }
            if (json.nextToken() != null) {
                throw bad("there is more behind the end of the JSON object");
            }
        } catch (final JsonProcessingException e) {
            throw bad("the body is not JSON: " + e.getOriginalMessage());
        }
    }

    private static List<String> values(final JsonParser json, final String name) throws IOException {
        if (json.currentToken() != JsonToken.START_ARRAY) {
            return List.of(value(json, name));
        }
        final List<String> values = new ArrayList<>();
        while (json.nextToken() != JsonToken.END_ARRAY) {
            values.add(value(json, name));
        }
        return values;
    }

    private static String value(final JsonParser json, final String name) throws IOException {
        if (!json.currentToken().isScalarValue() || json.currentToken() == JsonToken.VALUE_NULL) {
            throw bad("'" + name + "' must be a text, a number, true or false, or a list of those");
        }
        return json.getText();
    }

    private static void add(final Map<String, List<String>> parameters, final String name, final List<String> values) {
        parameters.computeIfAbsent(name, any -> new ArrayList<>()).addAll(values);
    }

    static HttpFailure bad(final String message) {
        return new HttpFailure(HttpFailure.BAD_REQUEST, message);
    }

    String method() {
        return method;
    }

    /** Refuses parameters other than these. */
    AdminRequest knows(final String... names) {
        for (final String name : parameters.keySet()) {
            if (!Set.of(names).contains(name)) {
                throw bad("'" + name + "' is no parameter here; there " + (names.length == 0 ? "are none"
                    : "is " + String.join(", ", names)));
            }
        }
        return this;
    }

    String text(final String name) {
        final String value = text(name, "");
        if (value.isEmpty()) {
            throw bad("'" + name + "' is missing");
        }
        return value;
    }

    String text(final String name, final String byDefault) {
        final List<String> values = parameters.getOrDefault(name, List.of(byDefault));
        if (values.size() != 1) {
            throw bad("'" + name + "' has " + values.size() + " values; it must have one");
        }
        return values.getFirst();
    }

    /** Names in a list or a parameter that is repeated, or in one text, separated by commas. */
    List<String> names(final String name, final int most) {
        final List<String> given = parameters.getOrDefault(name, List.of());
        final boolean oneText = given.size() == 1 && !lists.contains(name);
        final List<String> all = oneText ? List.of(given.getFirst().split(",")) : given;
        final List<String> names = all.stream().filter(text -> !text.isEmpty()).toList();
        if (names.isEmpty() || names.size() > most) {
            throw bad("'" + name + "' has " + names.size() + " names; it must have 1 to " + most);
        }
        return names;
    }

    long number(final String name) {
        final String value = text(name);
        try {
            final long number = Long.parseLong(value);
            if (number > 0) {
                return number;
            }
        } catch (final NumberFormatException ignored) {
            // Said below.
        }
        throw bad("'" + name + "' is '" + value + "'; it must be a whole number above 0");
    }

    boolean flag(final String name) {
        return switch (text(name, "false")) {
            case "true", "1", "" -> true;
            case "false", "0" -> false;
            case final String other -> throw bad("'" + name + "' is '" + other + "'; it must be true or false");
        };
    }
}
