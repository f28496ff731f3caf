package io.kvtier.store.config;

import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * Environment variables, each of which a system property of the same name overrides.
 *
 * <p><b>Threading:</b> stateless; a variable is read when it is asked for.
 */
public final class Environment {
    private final UnaryOperator<String> properties;
    private final UnaryOperator<String> variables;

    private Environment(final UnaryOperator<String> properties, final UnaryOperator<String> variables) {
        this.properties = properties;
        this.variables = variables;
    }

    /**
     * That of this process.
     *
     * @return system properties first, then environment variables.
     */
    public static Environment system() {
        return new Environment(System::getProperty, System::getenv);
    }

    /**
     * One of a test, or of a program that has its settings from elsewhere.
     *
     * @param variables by name.
     * @return these and nothing else.
     */
    public static Environment of(final Map<String, String> variables) {
        return new Environment(name -> null, Map.copyOf(variables)::get);
    }

    /**
     * One setting.
     *
     * @param name of the variable, and of the property that overrides it.
     * @return its text without spaces around it; empty when it is not set, or set to nothing.
     */
    public Optional<String> get(final String name) {
        final String property = properties.apply(name);
        final String value = property == null ? variables.apply(name) : property;
        return Optional.ofNullable(value).map(String::strip).filter(text -> !text.isEmpty());
    }
}
