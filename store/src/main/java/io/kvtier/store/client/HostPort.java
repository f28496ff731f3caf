package io.kvtier.store.client;

import java.net.InetSocketAddress;

/**
 * Where a server is, as clients write it: {@code host:port}, an IPv6 address in brackets.
 *
 * @param host name or address, without brackets.
 * @param port 1 to 65,535.
 */
record HostPort(String host, int port) {
    private static final int MAX_PORT = 65_535;

    /**
     * Reads one.
     *
     * @throws IllegalArgumentException when it is none.
     */
    static HostPort parse(final String text) {
        final int colon = text.lastIndexOf(':');
        String host = colon < 1 ? "" : text.substring(0, colon);
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        } else if (host.indexOf(':') >= 0) {
            host = "";
        }
        try {
            final int port = host.isEmpty() ? 0 : Integer.parseInt(text.substring(colon + 1));
            if (port >= 1 && port <= MAX_PORT) {
                return new HostPort(host, port);
            }
        } catch (final NumberFormatException e) {
            // Said below.
        }
        throw new IllegalArgumentException("'" + text + "' is not host:port; write 127.0.0.1:50051 or [::1]:50051");
    }

    /** Where a server is reached that listens at an address; {@code advertised} instead of its host unless null. */
    static String of(final String advertised, final InetSocketAddress listening) {
        final String host = advertised == null ? listening.getAddress().getHostAddress() : advertised;
        return (host.indexOf(':') >= 0 ? '[' + host + ']' : host) + ':' + listening.getPort();
    }
}
