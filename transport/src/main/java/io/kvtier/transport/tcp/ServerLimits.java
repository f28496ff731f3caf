package io.kvtier.transport.tcp;

/**
 * How much a server lets its clients have.
 *
 * @param maxConnections  connections at a time; further ones are told so and closed.
 * @param maxRequestBytes longest request in bytes.
 * @param chunkBytes      most bytes of data in one frame, of a read and of a write.
 * @param maxUnderWay     requests of a connection that are taken before it has to wait for their answers.
 * @param sendBufferBytes bytes of a connection that the kernel may hold on their way out; 0 to let it choose. See
 *                        {@link TcpConfig}.
 * @param handshakeMs     milliseconds that a client has for its handshake.
 * @param requestMs       milliseconds for one frame to come, and for one batch of answers to go.
 * @param idleMs          milliseconds without a request after which a connection is closed.
 */
public record ServerLimits(int maxConnections, long maxRequestBytes, int chunkBytes, int maxUnderWay,
                           int sendBufferBytes, long handshakeMs, long requestMs, long idleMs) {
    /** 256 connections; requests of 1 GiB; chunks of 1 MiB; 64 requests a connection; 5 s, 30 s and 2 minutes. */
    public static final ServerLimits DEFAULT =
        new ServerLimits(256, 1L << 30, TcpConfig.DEFAULT_CHUNK_BYTES, 64,
            TcpConfig.DEFAULT_SEND_BUFFER_BYTES, 5_000, 30_000, 120_000);

    private static final int MAX_CONNECTIONS = 65_536;

    /**
     * Validates.
     *
     * @param maxConnections  connections.
     * @param maxRequestBytes bytes of a request.
     * @param chunkBytes      bytes of a frame.
     * @param maxUnderWay     requests of a connection.
     * @param sendBufferBytes bytes in the kernel, or 0.
     * @param handshakeMs     for a handshake.
     * @param requestMs       for a frame.
     * @param idleMs          without a request.
     */
    public ServerLimits {
        Bounds.check("maxConnections", maxConnections, 1, MAX_CONNECTIONS);
        Bounds.check("maxRequestBytes", maxRequestBytes, TcpConfig.MIN_CHUNK_BYTES, Long.MAX_VALUE);
        Bounds.check("chunkBytes", chunkBytes, TcpConfig.MIN_CHUNK_BYTES, TcpConfig.MAX_CHUNK_BYTES);
        Bounds.check("maxUnderWay", maxUnderWay, 1, TcpConfig.MAX_WINDOW);
        Bounds.check("sendBufferBytes", sendBufferBytes, 0, TcpConfig.MAX_SEND_BUFFER_BYTES);
        Bounds.check("handshakeMs", handshakeMs, 1, Integer.MAX_VALUE);
        Bounds.check("requestMs", requestMs, 1, Integer.MAX_VALUE);
        Bounds.check("idleMs", idleMs, 1, Integer.MAX_VALUE);
    }
}
