package io.kvtier.transport.tcp;

/**
 * How often and how fast a client tries again what may go well the next time: to connect, and to send requests whose
 * connection was lost.
 *
 * @param maxRetryCount    attempts after the first one; {@code transports/tcp/max_retry_count}.
 * @param retryBaseDelayMs milliseconds before the second attempt to connect, doubling from then on;
 *                         {@code transports/tcp/retry_base_delay_ms}.
 * @param retryMaxDelayMs  most milliseconds between two attempts; {@code transports/tcp/retry_max_delay_ms}.
 */
public record TcpRetry(int maxRetryCount, long retryBaseDelayMs, long retryMaxDelayMs) {
    /** Three more attempts, after 100 ms doubling to 2 s. */
    public static final TcpRetry DEFAULT = new TcpRetry(3, 100, 2_000);

    private static final int MAX_COUNT = 1000;

    /**
     * Validates.
     *
     * @param maxRetryCount    attempts after the first one.
     * @param retryBaseDelayMs first delay.
     * @param retryMaxDelayMs  greatest delay.
     */
    public TcpRetry {
        Bounds.check("max_retry_count", maxRetryCount, 0, MAX_COUNT);
        Bounds.check("retry_base_delay_ms", retryBaseDelayMs, 0, Integer.MAX_VALUE);
        Bounds.check("retry_max_delay_ms", retryMaxDelayMs, retryBaseDelayMs, Integer.MAX_VALUE);
    }

    /** Milliseconds to wait after so many failed attempts in a row. */
    long delayMs(final int failures) {
        long delay = retryBaseDelayMs;
        for (int i = 1; i < failures && delay < retryMaxDelayMs; i++) {
            delay *= 2;
        }
        return Math.min(delay, retryMaxDelayMs);
    }
}
