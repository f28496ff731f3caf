package io.kvtier.store;

/** Checks of settings: what is wrong is said by the setting's name, its value and what is allowed. */
final class Setting {
    static final String WAIT = "0 for no waiting, up to 24 days";
    static final String TIME = "1 ms to 24 days";
    static final String ROOM = "one page to 16 TiB";

    private Setting() {
    }

    static void between(final String name, final long value, final long low, final long high, final String allowed) {
        if (value < low || value > high) {
            throw invalid(name + " is " + value + "; allowed is " + allowed);
        }
    }

    /** Bytes of memory or of a disk. */
    static void room(final String name, final long bytes, final String allowed) {
        between(name, bytes, StoreConfig.UNIT_BYTES, StoreConfig.MAX_TIER_BYTES, allowed);
    }

    /** Milliseconds of a call that has to be given some. */
    static void time(final String name, final long ms) {
        between(name, ms, 1, Integer.MAX_VALUE, TIME);
    }

    /** Milliseconds of a wait that need not be. */
    static void wait(final String name, final long ms) {
        between(name, ms, 0, Integer.MAX_VALUE, WAIT);
    }

    /** A share above which something happens. */
    static void watermark(final String name, final double share) {
        share(name, share, share > 0 && share <= 1, "more than 0 and at most 1");
    }

    static void share(final String name, final double value, final boolean valid, final String allowed) {
        if (!valid) {
            throw invalid(name + " is " + value + "; allowed is " + allowed);
        }
    }

    static void text(final String name, final String value, final int longest) {
        if (value == null || value.isEmpty() || value.length() > longest) {
            throw invalid(name + (value == null ? " is not set" : " is '" + value + "'") + "; allowed is 1 to "
                + longest + " characters");
        }
    }

    static StoreException invalid(final String message) {
        return new StoreException(ErrorCode.INVALID_PARAMS, "setting " + message);
    }
}
