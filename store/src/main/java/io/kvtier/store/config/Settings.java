package io.kvtier.store.config;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Named values that are asked for one by one, each with its type, default and range; what nobody asked for is known at
 * the end.
 *
 * <p><b>Threading:</b> for one thread.
 */
final class Settings {
    private final Map<String, Object> values;
    private final String source;
    private final Set<String> asked = new HashSet<>();

    /**
     * Over values of a document.
     *
     * @param values as {@link JsonDocument} gives them.
     * @param source where they are from, for errors.
     */
    Settings(final Map<String, Object> values, final String source) {
        this.values = values;
        this.source = source;
    }

    boolean flag(final String key, final boolean byDefault) {
        return switch (take(key)) {
            case null -> byDefault;
            case Boolean value -> value;
            case final Object other -> throw wrong(key, other, "true or false");
        };
    }

    long number(final String key, final long byDefault, final long min, final long max) {
        final Object value = take(key);
        if (value == null) {
            return byDefault;
        }
        if (!(value instanceof Long number) || number < min || number > max) {
            throw wrong(key, value, "a whole number from " + min + " to " + max);
        }
        return number;
    }

    String text(final String key, final String byDefault) {
        return switch (take(key)) {
            case null -> byDefault;
            case String value -> value;
            case final Object other -> throw wrong(key, other, "a text");
        };
    }

    List<?> list(final String key) {
        return switch (take(key)) {
            case null -> List.of();
            case List<?> value -> value;
            case final Object other -> throw wrong(key, other, "a list");
        };
    }

    boolean has(final String key) {
        return values.containsKey(key);
    }

    /** What was given and not asked for, in order. */
    Set<String> unasked() {
        final Set<String> rest = new TreeSet<>(values.keySet());
        rest.removeAll(asked);
        return rest;
    }

    IllegalArgumentException wrong(final String key, final Object value, final String allowed) {
        return new IllegalArgumentException(source + ": '" + key + "' is " + value + "; it must be " + allowed);
    }

    private Object take(final String key) {
        asked.add(key);
        return values.get(key);
    }
}
