package io.kvtier.alloc.bits;

/**
 * A request that found nothing, and the epoch in which that was so: while nothing is given back, space only shrinks, so
 * a request as long or longer finds nothing either.
 *
 * @param units how long a run was asked for.
 * @param epoch {@link Lanes#freed()}, the same before and after the search.
 */
public record KnownFailure(long units, long epoch) {
    /** Covers no request. */
    public static final KnownFailure NONE = new KnownFailure(Long.MAX_VALUE, -1);

    /**
     * Whether a request is known to fail.
     *
     * @param count how long a run it wants.
     * @param now   {@link Lanes#freed()}, read after the request began.
     * @return true when it need not search.
     */
    public boolean covers(final long count, final long now) {
        return count >= units && now == epoch;
    }
}
