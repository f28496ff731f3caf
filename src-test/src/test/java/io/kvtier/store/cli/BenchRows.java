package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The rows that a bench has printed as JSON. */
record BenchRows(Map<String, Object> json) {
    List<String> names() {
        final List<String> names = new ArrayList<>();
        while (json.containsKey("rows." + names.size() + ".row")) {
            names.add(text(names.size(), "row"));
        }
        return names;
    }

    /** What a row says; null for a figure that there is not. */
    Object get(final int row, final String field) {
        final String name = "rows." + row + '.' + field;
        assertTrue(json.containsKey(name), () -> name + " is not in " + json);
        return json.get(name);
    }

    String text(final int row, final String field) {
        return assertInstanceOf(String.class, get(row, field), () -> field + " of row " + row + " of " + json);
    }

    double number(final int row, final String field) {
        return assertInstanceOf(Number.class, get(row, field), () -> field + " of row " + row + " of " + json)
            .doubleValue();
    }
}
