package io.kvtier.kit;

import java.io.IOException;
import java.util.concurrent.ThreadLocalRandom;

/** Ports for servers that end and begin again where they were. */
public final class Ports {
    /** Not of those that the system gives to whoever names none: between two servers somebody could get the port. */
    private static final int FIRST = 20_000;
    private static final int LAST = 32_000;

    private Ports() {
    }

    /** Starts something that listens. */
    @FunctionalInterface
    public interface Start<T> {
        T on(int port) throws IOException;
    }

    /**
     * Starts a server on a port that can be named again once it is closed.
     *
     * @param start tried with one port after the other while it throws; what it opened by then is closed.
     * @return what it started.
     * @throws IOException when not even the last port was to be had.
     */
    public static <T> T anywhere(final Start<T> start) throws IOException {
        for (int port = ThreadLocalRandom.current().nextInt(FIRST, LAST);; port++) {
            try {
                return start.on(port);
            } catch (final IOException e) {
                if (port >= LAST) {
                    throw e;
                }
            }
        }
    }
}
