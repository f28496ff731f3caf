package io.kvtier.transport;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.Objects;

/**
 * Where a segment is.
 *
 * <table>
 * <caption>The forms</caption>
 * <tr><td>{@code file:///absolute/path}</td><td>a file</td></tr>
 * <tr><td>{@code tcp://host:port/name}</td><td>a segment that another process serves</td></tr>
 * <tr><td>{@code shm:///absolute/path}</td><td>memory of another process on this host</td></tr>
 * </table>
 *
 * @param name the address as it was written, or the name that a region is registered under.
 * @param kind what it leads to.
 * @param host host of a remote segment; empty for others.
 * @param port port of a remote segment; 0 for others.
 * @param path path of a file or of shared memory, name of a remote segment; empty for memory.
 */
public record SegmentAddress(String name, Segment.Kind kind, String host, int port, String path) {
    private static final int MAX_PORT = 65_535;

    /**
     * Refuses absent parts.
     *
     * @param name the address as it was written.
     * @param kind what it leads to.
     * @param host host of a remote segment.
     * @param port port of a remote segment.
     * @param path path or name.
     */
    public SegmentAddress {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(kind, "kind");
        Objects.requireNonNull(host, "host");
        Objects.requireNonNull(path, "path");
    }

    /**
     * Reads an address.
     *
     * @param address in one of the forms above.
     * @return its parts.
     * @throws IllegalArgumentException when it has none of the forms.
     */
    public static SegmentAddress parse(final String address) {
        final URI uri;
        try {
            uri = new URI(address);
        } catch (final URISyntaxException e) {
            throw malformed(address, e.getMessage());
        }
        if (uri.getQuery() != null || uri.getFragment() != null || uri.getUserInfo() != null) {
            throw malformed(address, "it has a query, a fragment or a user");
        }
        final String path = uri.getPath() == null ? "" : uri.getPath();
        return switch (uri.getScheme() == null ? "" : uri.getScheme()) {
            case "file" -> local(address, Segment.Kind.FILE, uri, path);
            case "shm" -> local(address, Segment.Kind.SHARED, uri, path);
            case "tcp" -> remote(address, uri, path);
            default -> throw malformed(address, "its scheme is none of file, tcp and shm");
        };
    }

    private static SegmentAddress local(final String address, final Segment.Kind kind, final URI uri,
        final String path) {
        if (uri.getRawAuthority() != null || !path.startsWith("/")) {
            throw malformed(address, "its path is not absolute, or it names a host");
        }
        return new SegmentAddress(address, kind, "", 0, path);
    }

    private static SegmentAddress remote(final String address, final URI uri, final String path) {
        if (uri.getHost() == null || uri.getPort() < 1 || uri.getPort() > MAX_PORT || path.length() < 2) {
            throw malformed(address, "it wants a host, a port from 1 to " + MAX_PORT + " and a name");
        }
        return new SegmentAddress(address, Segment.Kind.REMOTE, uri.getHost(), uri.getPort(), path.substring(1));
    }

    private static IllegalArgumentException malformed(final String address, final String why) {
        return new IllegalArgumentException("cannot open segment '" + address + "': " + why
            + "; the forms are file:///absolute/path, shm:///absolute/path and tcp://host:port/name");
    }
}
