package io.kvtier.store.config;

import java.util.EnumMap;
import java.util.Map;

/**
 * Values of a master's options, each of the type and in the range of its option.
 *
 * <p><b>Threading:</b> immutable.
 */
final class MasterValues {
    /** What holds when nobody gives anything. */
    static final MasterValues DEFAULT = new MasterValues(Map.of());

    private final Map<MasterOption, Object> values = new EnumMap<>(MasterOption.class);

    /** The defaults, and what is given in place of them. */
    MasterValues(final Map<MasterOption, Object> given) {
        for (final MasterOption option : MasterOption.values()) {
            values.put(option, option.parse(option.byDefault(), option.key()));
        }
        values.putAll(given);
    }

    boolean flag(final MasterOption option) {
        return (Boolean) values.get(option);
    }

    int whole(final MasterOption option) {
        return Math.toIntExact((Long) values.get(option));
    }

    /** A whole number that may be large. */
    long number(final MasterOption option) {
        return (Long) values.get(option);
    }

    /** A time in milliseconds. */
    long ms(final MasterOption option) {
        return (Long) values.get(option);
    }

    double share(final MasterOption option) {
        return (Double) values.get(option);
    }

    String text(final MasterOption option) {
        return (String) values.get(option);
    }
}
