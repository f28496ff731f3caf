package io.kvtier.store.config;

import java.util.LinkedHashMap;
import java.util.Map;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.schema.CoreSchema;

/**
 * A YAML 1.2 mapping as the same flat map that {@link JsonDocument} gives. Only the core schema's plain types: a tag
 * makes no objects, a name that is given twice is an error. The one class that needs the YAML library.
 */
final class YamlDocument {
    private static final int MAX_CHARACTERS = 1 << 20;
    private static final int MAX_ALIASES = 16;
    private static final int MAX_DEPTH = 16;

    private YamlDocument() {
    }

    /**
     * Reads a document.
     *
     * @param text   YAML; nothing but comments is an empty mapping.
     * @param source where it is from, for errors.
     * @throws IllegalArgumentException when it is no YAML mapping, or gives a name twice; with line and column.
     */
    static Map<String, Object> parse(final String text, final String source) {
        final LoadSettings settings = LoadSettings.builder().setLabel(source).setSchema(new CoreSchema())
            .setAllowDuplicateKeys(false).setAllowRecursiveKeys(false).setMaxAliasesForCollections(MAX_ALIASES)
            .setCodePointLimit(MAX_CHARACTERS).build();
        final Object root;
        try {
            root = new Load(settings).loadFromString(text);
        } catch (final MarkedYamlEngineException e) {
            final String where = e.getProblemMark()
                .map(mark -> ", line " + (mark.getLine() + 1) + ", column " + (mark.getColumn() + 1)).orElse("");
            throw new IllegalArgumentException(source + ": this is not YAML: " + e.getProblem() + where, e);
        } catch (final YamlEngineException e) {
            throw new IllegalArgumentException(source + ": this is not YAML: " + e.getMessage(), e);
        } catch (final StackOverflowError e) {
            throw new IllegalArgumentException(source + ": this is nested too deep", e);
        }
        final Map<String, Object> values = new LinkedHashMap<>();
        switch (root) {
            case null -> {
                // Nothing but comments.
            }
            case final Map<?, ?> mapping -> flatten(mapping, "", values, source, 0);
            default -> throw new IllegalArgumentException(source + ": a YAML mapping is expected, lines of "
                + "'name: value'");
        }
        return values;
    }

    private static void flatten(final Map<?, ?> mapping, final String prefix, final Map<String, Object> values,
        final String source, final int depth) {
        if (depth > MAX_DEPTH) {
            // An alias may even stand for what it is in.
            throw new IllegalArgumentException(source + ": '" + prefix + "...' is nested more than " + MAX_DEPTH
                + " deep");
        }
        mapping.forEach((name, value) -> {
            final String key = prefix + name;
            switch (value) {
                case null -> {
                    // As if the name were not there.
                }
                case final Map<?, ?> inner -> flatten(inner, key + '/', values, source, depth + 1);
                case final Integer number -> put(values, key, number.longValue(), source);
                default -> put(values, key, value, source);
            }
        });
    }

    private static void put(final Map<String, Object> values, final String key, final Object value,
        final String source) {
        if (values.put(key, value) != null) {
            throw new IllegalArgumentException(source + ": '" + key + "' is given twice");
        }
    }
}
