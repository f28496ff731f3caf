package io.kvtier.transport.rpc;

import io.kvtier.transport.SharedSecret;
import java.net.InetSocketAddress;
import java.util.Objects;
import javax.net.ssl.SSLContext;

/**
 * How an RPC server listens.
 *
 * @param address          where; port 0 takes any free one.
 * @param secret           the shared secret, or null.
 * @param tls              certificates, or null for no TLS.
 * @param clientCertificate whether TLS asks clients for a certificate too.
 * @param open             the explicit word that an address beyond loopback needs neither TLS nor a secret.
 * @param maxConnections   connections at once.
 * @param maxBodyBytes     largest body taken.
 * @param handshakeTimeoutMs milliseconds for TLS and handshake together.
 * @param drainTimeoutMs   milliseconds that closing waits for calls under way, and once more for clients to read
 *                         the answers.
 * @param stallTimeoutMs   milliseconds in which a client must take some of the answers that wait for it, or is ended.
 */
public record RpcServerConfig(InetSocketAddress address, SharedSecret secret, SSLContext tls, boolean clientCertificate,
                              boolean open, int maxConnections, int maxBodyBytes, long handshakeTimeoutMs,
                              long drainTimeoutMs, long stallTimeoutMs) {
    private static final int DEFAULT_CONNECTIONS = 1024;
    private static final int DEFAULT_BODY = 16 << 20;
    private static final int MIN_BODY = 4096;
    private static final int MAX_BODY = 1 << 30;
    private static final long DEFAULT_HANDSHAKE_MS = 5000;
    private static final long DEFAULT_DRAIN_MS = 10_000;
    private static final long DEFAULT_STALL_MS = 30_000;

    /**
     * Validates.
     *
     * @param address            where.
     * @param secret             the shared secret, or null.
     * @param tls                certificates, or null.
     * @param clientCertificate  whether clients need a certificate.
     * @param open               whether neither is wanted beyond loopback.
     * @param maxConnections     connections at once.
     * @param maxBodyBytes       largest body.
     * @param handshakeTimeoutMs milliseconds for the handshake.
     * @param drainTimeoutMs     milliseconds to close.
     * @param stallTimeoutMs     milliseconds for a client to read on.
     */
    public RpcServerConfig {
        Objects.requireNonNull(address, "address");
        if (address.isUnresolved()) {
            throw new IllegalArgumentException("cannot listen at " + address + ": the host is not known");
        }
        if (!address.getAddress().isLoopbackAddress() && tls == null && secret == null && !open) {
            throw new IllegalArgumentException("the address " + address.getHostString() + " is beyond loopback: give"
                + " TLS certificates or a shared secret, or say explicitly that neither is wanted");
        }
        if (clientCertificate && tls == null) {
            throw new IllegalArgumentException("client certificates are asked for, and there is no TLS");
        }
        check("maxConnections", maxConnections, 1, 1 << 20);
        check("maxBodyBytes", maxBodyBytes, MIN_BODY, MAX_BODY);
        check("handshakeTimeoutMs", handshakeTimeoutMs, 1, Integer.MAX_VALUE);
        check("drainTimeoutMs", drainTimeoutMs, 0, Integer.MAX_VALUE);
        check("stallTimeoutMs", stallTimeoutMs, 1, Integer.MAX_VALUE);
    }

    /**
     * A server for this host only.
     *
     * @param port where; 0 takes any free one.
     * @return the configuration, with default limits.
     */
    public static RpcServerConfig loopback(final int port) {
        return new RpcServerConfig(new InetSocketAddress("127.0.0.1", port), null, null, false, false,
            DEFAULT_CONNECTIONS, DEFAULT_BODY, DEFAULT_HANDSHAKE_MS, DEFAULT_DRAIN_MS,
            DEFAULT_STALL_MS);
    }

    /**
     * The same with a shared secret.
     *
     * @param shared the secret.
     * @return the configuration.
     */
    public RpcServerConfig withSecret(final SharedSecret shared) {
        return new RpcServerConfig(address, shared, tls, clientCertificate, open, maxConnections, maxBodyBytes,
            handshakeTimeoutMs, drainTimeoutMs, stallTimeoutMs);
    }

    /**
     * The same with TLS.
     *
     * @param context certificates.
     * @param mutual  whether clients need one too.
     * @return the configuration.
     */
    public RpcServerConfig withTls(final SSLContext context, final boolean mutual) {
        return new RpcServerConfig(address, secret, context, mutual, open, maxConnections, maxBodyBytes,
            handshakeTimeoutMs, drainTimeoutMs, stallTimeoutMs);
    }

    /**
     * The same with other limits.
     *
     * @param connections at once.
     * @param bodyBytes   largest body.
     * @param handshakeMs milliseconds for the handshake.
     * @param drainMs     milliseconds to close.
     * @return the configuration.
     */
    public RpcServerConfig withLimits(final int connections, final int bodyBytes, final long handshakeMs,
        final long drainMs) {
        return new RpcServerConfig(address, secret, tls, clientCertificate, open, connections, bodyBytes, handshakeMs,
            drainMs, stallTimeoutMs);
    }

    /**
     * The same for other connections at once.
     *
     * @param connections at once.
     * @return the configuration.
     */
    public RpcServerConfig withMaxConnections(final int connections) {
        return withLimits(connections, maxBodyBytes, handshakeTimeoutMs, drainTimeoutMs);
    }

    /**
     * The same with another time for clients that do not read.
     *
     * @param milliseconds in which a client must take some of the answers that wait for it.
     * @return the configuration.
     */
    public RpcServerConfig withStallTimeoutMs(final long milliseconds) {
        return new RpcServerConfig(address, secret, tls, clientCertificate, open, maxConnections, maxBodyBytes,
            handshakeTimeoutMs, drainTimeoutMs, milliseconds);
    }

    private static void check(final String name, final long value, final long min, final long max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(name + " is " + value + "; it must be from " + min + " to " + max);
        }
    }
}
