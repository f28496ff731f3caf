package io.kvtier.store.config;

import java.net.InetAddress;
import java.net.UnknownHostException;

/** What this host is called where nobody says so. <b>Threading:</b> stateless. */
public final class HostName {
    private static final int MOST = 64;

    private HostName() {
    }

    /**
     * Asks the system.
     *
     * @return at most 64 characters; {@code localhost} when the system does not know.
     */
    public static String local() {
        try {
            final String host = InetAddress.getLocalHost().getHostName();
            return host.substring(0, Math.min(host.length(), MOST));
        } catch (final UnknownHostException e) {
            return "localhost";
        }
    }
}
