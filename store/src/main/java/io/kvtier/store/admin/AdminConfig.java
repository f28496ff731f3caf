package io.kvtier.store.admin;

import java.net.InetSocketAddress;
import java.util.Objects;
import javax.net.ssl.SSLContext;

/**
 * How a master's HTTP is served.
 *
 * @param address   where; port 0 takes any free one.
 * @param token     what a request must show, or null: at least {@value #MIN_TOKEN} characters.
 * @param tls       certificates, or null for plain HTTP.
 * @param clientCertificate whether TLS asks clients for a certificate too.
 * @param open      the explicit word that an address beyond loopback needs neither TLS nor a token.
 * @param clusterId what the cluster is called.
 */
public record AdminConfig(InetSocketAddress address, String token, SSLContext tls, boolean clientCertificate,
                          boolean open, String clusterId) {
    /** Fewest characters of a token: it must not be guessable. */
    public static final int MIN_TOKEN = 16;

    /**
     * Validates.
     *
     * @throws IllegalArgumentException naming what is wrong.
     */
    public AdminConfig {
        Objects.requireNonNull(address, "address");
        Objects.requireNonNull(clusterId, "clusterId");
        if (address.isUnresolved()) {
            throw new IllegalArgumentException("cannot listen at " + address + ": the host is not known");
        }
        if (token != null && token.length() < MIN_TOKEN) {
            throw new IllegalArgumentException("the token has " + token.length() + " characters; it needs at least "
                + MIN_TOKEN + " random ones, for example from: openssl rand -hex 32");
        }
        if (clientCertificate && tls == null) {
            throw new IllegalArgumentException("client certificates are asked for, and there is no TLS");
        }
        if (!address.getAddress().isLoopbackAddress() && tls == null && token == null && !open) {
            throw new IllegalArgumentException("the address " + address.getHostString() + " is beyond loopback: give "
                + "TLS certificates or a token, or say explicitly that neither is wanted");
        }
    }

    /**
     * A server for this host only, without protection.
     *
     * @param port where; 0 takes any free one.
     * @return the configuration.
     */
    public static AdminConfig loopback(final int port) {
        return new AdminConfig(new InetSocketAddress("127.0.0.1", port), null, null, false, false, "");
    }

    /** Shows no token. */
    @Override
    public String toString() {
        return "AdminConfig[" + address + (token == null ? "" : ", token") + (tls == null ? "" : ", TLS") + ']';
    }
}
