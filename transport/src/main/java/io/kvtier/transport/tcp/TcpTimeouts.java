package io.kvtier.transport.tcp;

/**
 * How long a client waits.
 *
 * @param connectMs milliseconds for a connection and its handshake.
 * @param requestMs milliseconds for a request, from the moment on that it is the oldest of its connection; then the
 *                  connection is ended, and with it what is under way on it.
 * @param idleMs    milliseconds after which a connection without requests is closed.
 */
public record TcpTimeouts(long connectMs, long requestMs, long idleMs) {
    /** 5 s, 30 s and 60 s. */
    public static final TcpTimeouts DEFAULT = new TcpTimeouts(5_000, 30_000, 60_000);

    /**
     * Validates.
     *
     * @param connectMs for a connection.
     * @param requestMs for a request.
     * @param idleMs    without requests.
     */
    public TcpTimeouts {
        Bounds.check("connectMs", connectMs, 1, Integer.MAX_VALUE);
        Bounds.check("requestMs", requestMs, 1, Integer.MAX_VALUE);
        Bounds.check("idleMs", idleMs, 1, Integer.MAX_VALUE);
    }
}
