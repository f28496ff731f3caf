package io.kvtier.store;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** Which values go first when a disk has no room for more. What memory has as well goes before all others. */
public enum DiskEviction {
    /** Those that were used longest ago, in memory or on the disk. */
    LRU,
    /** Those that have been on the disk for longest, however often they are read. */
    FIFO;

    /**
     * Its name in a configuration.
     *
     * @return {@code lru} or {@code fifo}.
     */
    public String configName() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * The one of a name.
     *
     * @param name as {@link #configName()} gives it.
     * @return the order.
     * @throws IllegalArgumentException when there is none of that name; says which there are.
     */
    public static DiskEviction of(final String name) {
        for (final DiskEviction one : values()) {
            if (one.configName().equals(name)) {
                return one;
            }
        }
        throw new IllegalArgumentException("'" + name + "' is no order of eviction; allowed is "
            + Arrays.stream(values()).map(DiskEviction::configName).collect(Collectors.joining(", ")));
    }
}
