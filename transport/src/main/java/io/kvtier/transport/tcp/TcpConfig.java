package io.kvtier.transport.tcp;

import io.kvtier.transport.SharedSecret;
import java.util.Objects;

/**
 * Settings of the client.
 *
 * @param enable             whether the transport is there at all; {@code transports/tcp/enable}.
 * @param ioThreads          threads that move bytes; connections of one peer are spread over them.
 * @param lanesPerPeer       most connections to one server. They are opened as requests have to wait.
 * @param maxConcurrentTasks requests that may be under way on one connection, so that the next is there when one ends;
 *                           {@code transports/tcp/max_concurrent_tasks}.
 * @param chunkBytes         most bytes of a write in one frame; the server may ask for fewer.
 * @param sendBufferBytes    bytes of a connection that the kernel may hold on their way out; 0 to let it choose. What
 *                           the network holds in a round trip is enough (1 MB at 10 GB/s and 100 microseconds); more
 *                           has left the caches when it is copied again.
 * @param timeouts           how long it waits.
 * @param retry              how often it tries again.
 * @param secret             what client and server must both know; null for none.
 */
public record TcpConfig(boolean enable, int ioThreads, int lanesPerPeer, int maxConcurrentTasks, int chunkBytes,
                        int sendBufferBytes, TcpTimeouts timeouts, TcpRetry retry, SharedSecret secret) {
    static final int DEFAULT_CHUNK_BYTES = 1 << 20;
    static final int DEFAULT_SEND_BUFFER_BYTES = 512 << 10;
    static final int MAX_SEND_BUFFER_BYTES = 1 << 30;
    static final int MIN_CHUNK_BYTES = 4096;
    static final int MAX_CHUNK_BYTES = 1 << 29;
    static final int MAX_THREADS = 256;
    static final int MAX_WINDOW = 65_535;

    private static final int DEFAULT_LANES = 4;
    private static final int MAX_LANES = 64;
    private static final int DEFAULT_WINDOW = 16;

    /**
     * On; 4 connections a peer, each with a loop of its own, so that as many callers can move their bytes themselves
     * without meeting; 16 requests a connection; chunks of 1 MiB; no secret.
     */
    public static final TcpConfig DEFAULT = new TcpConfig(true, DEFAULT_LANES, DEFAULT_LANES, DEFAULT_WINDOW,
        DEFAULT_CHUNK_BYTES, DEFAULT_SEND_BUFFER_BYTES, TcpTimeouts.DEFAULT, TcpRetry.DEFAULT, null);

    /**
     * Validates.
     *
     * @param enable             whether the transport is there.
     * @param ioThreads          threads.
     * @param lanesPerPeer       connections a server.
     * @param maxConcurrentTasks requests a connection.
     * @param chunkBytes         bytes a frame.
     * @param sendBufferBytes    bytes in the kernel, or 0.
     * @param timeouts           how long it waits.
     * @param retry              how often it tries again.
     * @param secret             the secret, or null.
     */
    public TcpConfig {
        Bounds.check("ioThreads", ioThreads, 1, MAX_THREADS);
        Bounds.check("lanesPerPeer", lanesPerPeer, 1, MAX_LANES);
        Bounds.check("max_concurrent_tasks", maxConcurrentTasks, 1, MAX_WINDOW);
        Bounds.check("chunkBytes", chunkBytes, MIN_CHUNK_BYTES, MAX_CHUNK_BYTES);
        Bounds.check("sendBufferBytes", sendBufferBytes, 0, MAX_SEND_BUFFER_BYTES);
        Objects.requireNonNull(timeouts, "timeouts");
        Objects.requireNonNull(retry, "retry");
    }

    /**
     * The same with other connections.
     *
     * @param lanes   most connections a server.
     * @param threads threads that move bytes.
     * @return the configuration.
     */
    public TcpConfig withLanes(final int lanes, final int threads) {
        return new TcpConfig(enable, threads, lanes, maxConcurrentTasks, chunkBytes, sendBufferBytes, timeouts,
            retry, secret);
    }

    /**
     * The same with another window and other chunks.
     *
     * @param requests most under way on a connection.
     * @param chunk    most bytes of a write in one frame.
     * @return the configuration.
     */
    public TcpConfig withWindow(final int requests, final int chunk) {
        return new TcpConfig(enable, ioThreads, lanesPerPeer, requests, chunk, sendBufferBytes, timeouts, retry,
            secret);
    }

    /**
     * The same with another bound of what the kernel holds of a connection.
     *
     * @param bytes on their way out; 0 to let the kernel choose.
     * @return the configuration.
     */
    public TcpConfig withSendBuffer(final int bytes) {
        return new TcpConfig(enable, ioThreads, lanesPerPeer, maxConcurrentTasks, chunkBytes, bytes, timeouts, retry,
            secret);
    }

    /**
     * The same with other times.
     *
     * @param other how long it waits.
     * @return the configuration.
     */
    public TcpConfig withTimeouts(final TcpTimeouts other) {
        return new TcpConfig(enable, ioThreads, lanesPerPeer, maxConcurrentTasks, chunkBytes, sendBufferBytes, other,
            retry, secret);
    }

    /**
     * The same with other retries.
     *
     * @param other how often it tries again.
     * @return the configuration.
     */
    public TcpConfig withRetry(final TcpRetry other) {
        return new TcpConfig(enable, ioThreads, lanesPerPeer, maxConcurrentTasks, chunkBytes, sendBufferBytes,
            timeouts, other, secret);
    }

    /**
     * The same with a secret.
     *
     * @param shared what the server knows as well; null for none.
     * @return the configuration.
     */
    public TcpConfig withSecret(final SharedSecret shared) {
        return new TcpConfig(enable, ioThreads, lanesPerPeer, maxConcurrentTasks, chunkBytes, sendBufferBytes,
            timeouts, retry, shared);
    }

    /**
     * The same, switched off or on.
     *
     * @param on whether the transport is there.
     * @return the configuration.
     */
    public TcpConfig withEnable(final boolean on) {
        return new TcpConfig(on, ioThreads, lanesPerPeer, maxConcurrentTasks, chunkBytes, sendBufferBytes, timeouts,
            retry, secret);
    }
}
