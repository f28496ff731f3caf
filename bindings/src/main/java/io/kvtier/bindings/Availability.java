package io.kvtier.bindings;

import java.util.Objects;

/**
 * Whether a native capability can be used in this process, and if not, why and what to do about it.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param available whether the capability was probed and works.
 * @param reason    one sentence: what was found, or what is missing.
 * @param remedy    what an operator does to get it; empty when available.
 */
public record Availability(boolean available, String reason, String remedy) {
    /**
     * Refuses absent texts.
     *
     * @param available whether the capability works.
     * @param reason    what was found.
     * @param remedy    what to do; empty when available.
     */
    public Availability {
        Objects.requireNonNull(reason, "reason");
        Objects.requireNonNull(remedy, "remedy");
    }

    /**
     * A capability that was probed and works.
     *
     * @param reason what was found, for example a version.
     * @return the availability.
     */
    public static Availability yes(final String reason) {
        return new Availability(true, reason, "");
    }

    /**
     * A capability that cannot be used.
     *
     * @param reason what is missing.
     * @param remedy what to do about it.
     * @return the availability.
     */
    public static Availability no(final String reason, final String remedy) {
        return new Availability(false, reason, remedy);
    }
}
