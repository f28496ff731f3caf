package io.kvtier.transport.tcp;

import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** The main class of processes that have too few descriptors, or no memory for buffers; each prints what it finds. */
final class Starved {
    private static final Deque<ByteBuffer> TAKEN = new ArrayDeque<>();

    private Starved() {
    }

    public static void main(final String[] arguments) throws IOException {
        // The logging that it will need opens files when it begins.
        System.getLogger(Starved.class.getName()).log(Logger.Level.WARNING, "started");
        switch (arguments[0]) {
            case "descriptors" -> withoutDescriptors();
            case "server" -> serveWithoutBuffers();
            case "client" -> connectWithoutBuffers();
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    /** A server that wants more selectors than the process can have leaves neither its port nor threads behind. */
    private static void withoutDescriptors() throws IOException {
        final int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        SegmentServer.open(SegmentServerConfig.DEFAULT.withIoThreads(1)).close();
        final long threads = serverThreads();
        for (int i = 0; i < 2; i++) {
            try {
                SegmentServer.open(SegmentServerConfig.DEFAULT.at("127.0.0.1", port).withIoThreads(256)).close();
                System.out.println("opened");
            } catch (final UncheckedIOException e) {
                System.out.println("refused: " + e.getMessage());
            }
        }
        SegmentServer.open(SegmentServerConfig.DEFAULT.at("127.0.0.1", port).withIoThreads(1)).close();
        System.out.println("threads left: " + (serverThreads() - threads));
    }

    private static long serverThreads() {
        return Thread.getAllStackTraces().keySet().stream().filter(one -> one.getName().startsWith("kvtier-tcp"))
            .count();
    }

    /** Whoever comes while there is no buffer for a connection is let go, and counts no more. */
    private static void serveWithoutBuffers() throws IOException {
        final ByteBuffer room = ByteBuffer.allocateDirect(64);
        try (SegmentServer server = SegmentServer.open(SegmentServerConfig.DEFAULT.withIoThreads(1))) {
            takeAllBuffers();
            for (int i = 0; i < 3; i++) {
                try (SocketChannel channel = SocketChannel.open(server.address())) {
                    System.out.println("connected, and heard " + heard(channel, room.clear()));
                }
            }
            while (server.connections() > 0) {
                Thread.onSpinWait();
            }
            TAKEN.clear();
            System.out.println("connections left: " + server.connections());
        }
    }

    private static int heard(final SocketChannel channel, final ByteBuffer room) {
        try {
            return channel.read(room);
        } catch (final IOException e) {
            // Reset, as good an end.
            return -1;
        }
    }

    /** Opening fails while there is no buffer for a connection, and goes well again when there is. */
    private static void connectWithoutBuffers() throws IOException {
        try (ServerSocketChannel server = ServerSocketChannel.open();
            TransferEngine engine =
                TransferEngine.open(TransferConfig.DEFAULT, List.of(new TcpTransport(TcpRig.PLAIN)))) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            final String address =
                "tcp://127.0.0.1:" + ((InetSocketAddress) server.getLocalAddress()).getPort() + "/s";
            takeAllBuffers();
            for (int i = 0; i < 3; i++) {
                try {
                    engine.openSegment(address);
                } catch (final TransferException e) {
                    System.out.println("refused: " + e.failure().message());
                }
            }
        }
        TAKEN.clear();
    }

    private static void takeAllBuffers() {
        // Each refusal takes the JDK half a second; a connection wants more than the smallest of these.
        for (int bytes = 1 << 20; bytes >= 1 << 12; bytes /= 16) {
            try {
                while (true) {
                    TAKEN.add(ByteBuffer.allocateDirect(bytes));
                }
            } catch (final OutOfMemoryError e) {
                // Smaller ones may still fit.
                continue;
            }
        }
    }
}
