package io.kvtier.store;

/**
 * What a put does to the soft pin of its object. A soft-pinned value is evicted after all others. The pin has a fixed
 * end, counted from when the value becomes readable; reads do not prolong it.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param action what is done.
 * @param ttlMs  milliseconds that the pin lasts, for {@link Action#ENABLE}; 0 for the master's default.
 */
public record SoftPin(Action action, long ttlMs) {
    /** Leaves a pin as it is; a new object has none. */
    public static final SoftPin PRESERVE = new SoftPin(Action.PRESERVE, 0);
    /** Ends a pin. */
    public static final SoftPin DISABLE = new SoftPin(Action.DISABLE, 0);
    /** Pins for as long as the master's default says. */
    public static final SoftPin ENABLE = new SoftPin(Action.ENABLE, 0);

    /** What is done to a pin. */
    public enum Action {
        /** It stays as it is. */
        PRESERVE,
        /** It is set anew. */
        ENABLE,
        /** It ends. */
        DISABLE
    }

    /**
     * Validates.
     *
     * @throws StoreException INVALID_PARAMS when a time is given that has no meaning.
     */
    public SoftPin {
        if (ttlMs < 0 || ttlMs > 0 && action != Action.ENABLE) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "soft pin " + action + " has a time of " + ttlMs
                + " ms; only ENABLE has one, 0 or more");
        }
    }

    /**
     * Pins for a time.
     *
     * @param ttlMs milliseconds, at most the master's limit.
     * @return the pin.
     */
    public static SoftPin forMillis(final long ttlMs) {
        return new SoftPin(Action.ENABLE, ttlMs);
    }
}
