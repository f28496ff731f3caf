package io.kvtier.bindings.hf3fs;

/**
 * The two clocks of a wait: the library wants its deadline in the time of day, and how long nothing was heard is
 * measured on a clock that nobody sets.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public interface UsrbioClock {
    /** The clocks of this machine. */
    UsrbioClock SYSTEM = new UsrbioClock() {
        @Override
        public long nanoTime() {
            return System.nanoTime();
        }

        @Override
        public long epochMillis() {
            // Of CLOCK_REALTIME, as the library reads it.
            return System.currentTimeMillis();
        }
    };

    /**
     * A clock that only goes forward.
     *
     * @return nanoseconds since some moment.
     */
    long nanoTime();

    /**
     * The time of day.
     *
     * @return milliseconds since 1970.
     */
    long epochMillis();
}
