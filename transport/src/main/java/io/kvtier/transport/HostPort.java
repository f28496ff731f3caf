package io.kvtier.transport;

import java.net.InetSocketAddress;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where a server is, as people and processes write it: {@code host:port}, an IPv6 address in brackets. Nothing is
 * looked up.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param host name or address, without brackets.
 * @param port 1 to 65,535.
 */
public record HostPort(String host, int port) {
    private static final int MAX_PORT = 65_535;
    private static final int ABSENT = 0;
    /** An address with colons in brackets, or a host without; then perhaps a port. */
    private static final Pattern SHAPE =
        Pattern.compile("(?:\\[([^\\[\\]\\s/]*:[^\\[\\]\\s/]*)]|([^\\[\\]:\\s/]+))(?::([0-9]{1,5}))?");

    /**
     * Validates.
     *
     * @throws IllegalArgumentException naming what is wrong.
     */
    public HostPort {
        if (host.isEmpty()) {
            throw new IllegalArgumentException("the host is empty; give a name or an address");
        }
        if (port < 1 || port > MAX_PORT) {
            throw new IllegalArgumentException("the port is " + port + "; it must be from 1 to " + MAX_PORT);
        }
    }

    /**
     * Reads one that names its port.
     *
     * @param text {@code 127.0.0.1:50051}, {@code node-7:50051} or {@code [::1]:50051}.
     * @return its parts.
     * @throws IllegalArgumentException when it is none, with the text and how it is written.
     */
    public static HostPort parse(final String text) {
        return parse(text, ABSENT);
    }

    /**
     * Reads one that need not name its port.
     *
     * @param text      as for {@link #parse(String)}, or without the port.
     * @param usualPort what holds then.
     * @return its parts.
     * @throws IllegalArgumentException when it is none, with the text and how it is written.
     */
    public static HostPort parse(final String text, final int usualPort) {
        final Matcher shape = SHAPE.matcher(text);
        if (shape.matches()) {
            final int port = shape.group(3) == null ? usualPort : Integer.parseInt(shape.group(3));
            if (port >= 1 && port <= MAX_PORT) {
                return new HostPort(shape.group(1) == null ? shape.group(2) : shape.group(1), port);
            }
        }
        throw new IllegalArgumentException("'" + text + "' is not host:port with a port from 1 to " + MAX_PORT
            + "; write 127.0.0.1:50051, or [::1]:50051 for an IPv6 address");
    }

    /**
     * Where a server is reached that listens at an address.
     *
     * @param advertised name or address instead of that of the socket; null for that.
     * @param listening  a resolved address.
     * @return where others reach it.
     */
    public static HostPort of(final String advertised, final InetSocketAddress listening) {
        return new HostPort(advertised == null ? listening.getAddress().getHostAddress() : advertised,
            listening.getPort());
    }

    /** As {@link #parse(String)} reads it. */
    @Override
    public String toString() {
        return (host.indexOf(':') >= 0 ? '[' + host + ']' : host) + ':' + port;
    }
}
