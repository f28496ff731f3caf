package io.kvtier.transport.tcp;

import io.kvtier.transport.SharedSecret;
import java.util.Objects;

/**
 * Settings of a {@link SegmentServer}.
 *
 * @param host           address to listen on.
 * @param port           port to listen on; 0 for any that is free.
 * @param secret         what clients must prove to know; null for none.
 * @param insecure       the explicit word that a server may listen beyond this machine without a secret.
 * @param ioThreads      threads that move bytes; connections are spread over them.
 * @param closeTimeoutMs milliseconds that closing waits for requests that are running.
 * @param limits         what clients may have.
 */
public record SegmentServerConfig(String host, int port, SharedSecret secret, boolean insecure, int ioThreads,
                                  long closeTimeoutMs, ServerLimits limits) {
    private static final int MAX_PORT = 65_535;
    private static final long CLOSE_TIMEOUT_MS = 10_000;
    private static final int MOST_BY_DEFAULT = 4;

    /** This machine only, any free port, no secret. */
    public static final SegmentServerConfig DEFAULT = new SegmentServerConfig("127.0.0.1", 0, null, false,
        defaultThreads(), CLOSE_TIMEOUT_MS, ServerLimits.DEFAULT);

    /**
     * Validates.
     *
     * @param host           address to listen on.
     * @param port           port, or 0.
     * @param secret         the secret, or null.
     * @param insecure       whether it may do without beyond this machine.
     * @param ioThreads      threads.
     * @param closeTimeoutMs milliseconds to close.
     * @param limits         what clients may have.
     */
    public SegmentServerConfig {
        Objects.requireNonNull(host, "host");
        Objects.requireNonNull(limits, "limits");
        Bounds.check("port", port, 0, MAX_PORT);
        Bounds.check("ioThreads", ioThreads, 1, TcpConfig.MAX_THREADS);
        Bounds.check("closeTimeoutMs", closeTimeoutMs, 0, Integer.MAX_VALUE);
    }

    /**
     * The same at another address.
     *
     * @param address address to listen on.
     * @param number  port to listen on.
     * @return the configuration.
     */
    public SegmentServerConfig at(final String address, final int number) {
        return new SegmentServerConfig(address, number, secret, insecure, ioThreads, closeTimeoutMs, limits);
    }

    /**
     * The same with a secret.
     *
     * @param shared what clients know as well; null for none.
     * @return the configuration.
     */
    public SegmentServerConfig withSecret(final SharedSecret shared) {
        return new SegmentServerConfig(host, port, shared, insecure, ioThreads, closeTimeoutMs, limits);
    }

    /**
     * The same, with or without leave to do without a secret beyond this machine.
     *
     * @param word whether it may.
     * @return the configuration.
     */
    public SegmentServerConfig withInsecure(final boolean word) {
        return new SegmentServerConfig(host, port, secret, word, ioThreads, closeTimeoutMs, limits);
    }

    /**
     * The same with other limits.
     *
     * @param other what clients may have.
     * @return the configuration.
     */
    public SegmentServerConfig withLimits(final ServerLimits other) {
        return new SegmentServerConfig(host, port, secret, insecure, ioThreads, closeTimeoutMs, other);
    }

    /**
     * The same on other threads.
     *
     * @param threads threads that move bytes.
     * @return the configuration.
     */
    public SegmentServerConfig withIoThreads(final int threads) {
        return new SegmentServerConfig(host, port, secret, insecure, threads, closeTimeoutMs, limits);
    }

    /**
     * The same with another time to close.
     *
     * @param milliseconds that closing waits.
     * @return the configuration.
     */
    public SegmentServerConfig withCloseTimeoutMs(final long milliseconds) {
        return new SegmentServerConfig(host, port, secret, insecure, ioThreads, milliseconds, limits);
    }

    /** Enough to keep a fast network busy, and to leave the other half of a small machine to the rest. */
    private static int defaultThreads() {
        return Math.max(1, Math.min(MOST_BY_DEFAULT, Runtime.getRuntime().availableProcessors() / 2));
    }
}
