package io.kvtier.transport.rpc;

import io.kvtier.transport.HostPort;
import io.kvtier.transport.SharedSecret;
import java.util.Objects;
import javax.net.ssl.SSLContext;

/**
 * How an RPC client reaches its server.
 *
 * @param host             name or address.
 * @param port             1 to 65,535.
 * @param name             what the server's log calls this client.
 * @param secret           the shared secret, or null.
 * @param tls              certificates, or null for no TLS; the server's certificate must name the host.
 * @param connectTimeoutMs milliseconds for connecting, TLS and handshake together.
 * @param backoffMs        milliseconds before connecting again after it failed; doubled with each failure.
 * @param maxBackoffMs     milliseconds that it grows to.
 * @param maxBodyBytes     largest reply taken.
 */
public record RpcClientConfig(String host, int port, String name, SharedSecret secret, SSLContext tls,
                              long connectTimeoutMs, long backoffMs, long maxBackoffMs, int maxBodyBytes) {
    private static final int MAX_PORT = 65_535;
    private static final long DEFAULT_CONNECT_MS = 5000;
    private static final long DEFAULT_BACKOFF_MS = 100;
    private static final long DEFAULT_MAX_BACKOFF_MS = 2000;
    private static final int DEFAULT_BODY = 64 << 20;
    private static final int MAX_NAME = 64;

    /**
     * Validates.
     *
     * @param host             name or address.
     * @param port             port.
     * @param name             for the log.
     * @param secret           the shared secret, or null.
     * @param tls              certificates, or null.
     * @param connectTimeoutMs milliseconds to connect.
     * @param backoffMs        milliseconds between attempts.
     * @param maxBackoffMs     milliseconds that they grow to.
     * @param maxBodyBytes     largest reply.
     */
    public RpcClientConfig {
        Objects.requireNonNull(host, "host");
        Objects.requireNonNull(name, "name");
        if (port < 1 || port > MAX_PORT) {
            throw new IllegalArgumentException("port is " + port + "; it must be from 1 to " + MAX_PORT);
        }
        if (name.length() > MAX_NAME) {
            throw new IllegalArgumentException("name is '" + name + "'; it may have " + MAX_NAME + " characters");
        }
        if (connectTimeoutMs < 1 || backoffMs < 1 || maxBackoffMs < backoffMs || maxBodyBytes < 1) {
            throw new IllegalArgumentException("connectTimeoutMs is " + connectTimeoutMs + ", backoffMs " + backoffMs
                + ", maxBackoffMs " + maxBackoffMs + ", maxBodyBytes " + maxBodyBytes
                + "; all must be positive, and maxBackoffMs not below backoffMs");
        }
    }

    /**
     * Where the server is, for people.
     *
     * @return {@code host:port}, an IPv6 address in brackets.
     */
    public String server() {
        return new HostPort(host, port).toString();
    }

    /**
     * A client without TLS and secret.
     *
     * @param host name or address.
     * @param port port.
     * @param name for the log.
     * @return the configuration, with default limits.
     */
    public static RpcClientConfig of(final String host, final int port, final String name) {
        return new RpcClientConfig(host, port, name, null, null, DEFAULT_CONNECT_MS, DEFAULT_BACKOFF_MS,
            DEFAULT_MAX_BACKOFF_MS, DEFAULT_BODY);
    }

    /**
     * The same with a shared secret.
     *
     * @param shared the secret.
     * @return the configuration.
     */
    public RpcClientConfig withSecret(final SharedSecret shared) {
        return new RpcClientConfig(host, port, name, shared, tls, connectTimeoutMs, backoffMs, maxBackoffMs,
            maxBodyBytes);
    }

    /**
     * The same with TLS.
     *
     * @param context certificates.
     * @return the configuration.
     */
    public RpcClientConfig withTls(final SSLContext context) {
        return new RpcClientConfig(host, port, name, secret, context, connectTimeoutMs, backoffMs, maxBackoffMs,
            maxBodyBytes);
    }

    /**
     * The same with other times.
     *
     * @param connectMs  milliseconds to connect.
     * @param firstMs    milliseconds before the second attempt.
     * @param greatestMs milliseconds that they grow to.
     * @return the configuration.
     */
    public RpcClientConfig withTimes(final long connectMs, final long firstMs, final long greatestMs) {
        return new RpcClientConfig(host, port, name, secret, tls, connectMs, firstMs, greatestMs, maxBodyBytes);
    }
}
