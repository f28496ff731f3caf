package io.kvtier.store.cli;

import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.ManagementFactory;

/**
 * How many connections a master takes, so that its process never lacks a descriptor: without one nobody could be told
 * that there are too many, and the JDK's HTTP server would try to take the same connection again and again.
 *
 * @param calls connections of calls.
 * @param http  connections of HTTP.
 */
record FileShares(int calls, int http) {
    private static final int MOST_HTTP = 256;
    /** What the JVM has open itself, more or less, selectors and listening sockets included. */
    private static final int OTHERS = 128;
    private static final int QUARTER = 4;

    /**
     * Divides what there is.
     *
     * @param wanted connections of calls that are wanted.
     * @param files  that the process may have open.
     */
    static FileShares of(final int wanted, final long files) {
        final int http = Math.clamp(files / QUARTER, 1, MOST_HTTP);
        return new FileShares(Math.clamp(Math.max(files - http - OTHERS, files / QUARTER), 1, wanted), http);
    }

    /** How many files this process may have open. */
    static long limit() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof final UnixOperatingSystemMXBean system
            && system.getMaxFileDescriptorCount() > 0 ? system.getMaxFileDescriptorCount() : Long.MAX_VALUE;
    }
}
