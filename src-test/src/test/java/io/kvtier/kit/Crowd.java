package io.kvtier.kit;

import com.sun.management.UnixOperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Many clients that connect and go no further: to one of three they say nothing, to one half a message, to one a whole
 * one. As many of them stay connected as the process may have files, the oldest go first.
 */
public final class Crowd implements AutoCloseable {
    /** How many attempts make a crowd. */
    public static final int ATTEMPTS = 10_000;
    /** Descriptors for both ends of those that are served, and for the test. */
    private static final int OTHERS = 4000;
    private static final int KINDS = 3;

    private final InetSocketAddress address;
    private final byte[] message;
    private final Deque<Socket> sockets = new ArrayDeque<>();
    private final int atOnce;
    private int attempts;

    /**
     * Nobody yet.
     *
     * @param address where they go.
     * @param message what some of them say, and some half of.
     */
    public Crowd(final InetSocketAddress address, final byte[] message) {
        this.address = address;
        this.message = message.clone();
        final long files = ManagementFactory.getOperatingSystemMXBean() instanceof final UnixOperatingSystemMXBean here
            ? here.getMaxFileDescriptorCount() : OTHERS;
        atOnce = (int) Math.max(100, Math.min(ATTEMPTS, files - OTHERS));
    }

    /** One more. */
    public void join() throws IOException {
        if (sockets.size() == atOnce) {
            sockets.remove().close();
        }
        final Socket socket = new Socket();
        sockets.add(socket);
        socket.connect(address);
        try {
            socket.getOutputStream().write(message, 0, attempts++ % KINDS * message.length / (KINDS - 1));
        } catch (final IOException e) {
            // It was turned away before it could say anything.
            socket.close();
        }
    }

    @Override
    public void close() throws IOException {
        for (final Socket socket : sockets) {
            socket.close();
        }
    }
}
