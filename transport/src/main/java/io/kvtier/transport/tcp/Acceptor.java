package io.kvtier.transport.tcp;

import java.io.IOException;
import java.lang.System.Logger;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;

/**
 * Takes connections in, or turns them away.
 *
 * <p><b>Threading:</b> its loop's, but for {@link #close()}.
 */
final class Acceptor implements Loop.Ready, Loop.Member {
    private static final Logger LOG = System.getLogger(Acceptor.class.getName());
    /** A pause after an accept that failed: the socket stays ready, and the loop would do nothing else. */
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** Connections taken or turned away before the others of the loop have their turn. */
    private static final int TURN = 64;

    private final SegmentServer server;
    private final ServerSocketChannel channel;
    private final Loop loop;
    private SelectionKey key;
    private long pausedUntil;

    Acceptor(final SegmentServer server, final ServerSocketChannel channel, final Loop loop) {
        this.server = server;
        this.channel = channel;
        this.loop = loop;
    }

    void start() {
        loop.execute(() -> {
            try {
                key = loop.register(channel, SelectionKey.OP_ACCEPT, this);
                loop.add(this);
            } catch (final IOException e) {
                LOG.log(Logger.Level.ERROR, "a server cannot take connections", e);
            }
        });
    }

    /** Takes no more connections. */
    void close() {
        loop.execute(this::stop);
    }

    @Override
    public void ready(final int operations) {
        try {
            for (int i = 0; i < TURN; i++) {
                final SocketChannel accepted = channel.accept();
                if (accepted == null) {
                    break;
                }
                take(accepted);
            }
        } catch (final IOException e) {
            server.notes().warn("a connection could not be taken; if files are short, raise ulimit -n", e::getMessage);
            key.interestOps(0);
            pausedUntil = System.nanoTime() + PAUSE_NANOS;
            loop.dueAt(pausedUntil);
        }
    }

    @Override
    public long tick(final long now) {
        if (pausedUntil == 0 || !key.isValid()) {
            return Loop.NEVER;
        }
        if (now - pausedUntil < 0) {
            return pausedUntil;
        }
        pausedUntil = 0;
        key.interestOps(SelectionKey.OP_ACCEPT);
        return Loop.NEVER;
    }

    @Override
    public void stop() {
        loop.remove(this);
        try {
            channel.close();
        } catch (final IOException e) {
            LOG.log(Logger.Level.DEBUG, "a listening socket did not close cleanly", e);
        }
    }

    private void take(final SocketChannel accepted) throws IOException {
        final Loop its = server.admit();
        if (its == null) {
            turnAway(accepted);
        } else if (!its.execute(() -> begin(accepted, its))) {
            server.ended();
            accepted.close();
        }
    }

    private void begin(final SocketChannel accepted, final Loop its) {
        try {
            new ServerConnection(server, its, accepted).start();
        } catch (final IOException e) {
            LOG.log(Logger.Level.DEBUG, "a connection ended before it began: {0}", e.getMessage());
            server.ended();
        } catch (final RuntimeException | Error e) {
            server.notes().warn("a connection could not be served; if memory is short, raise "
                + "-XX:MaxDirectMemorySize", () -> String.valueOf(e.getMessage()));
            server.ended();
        }
    }

    /** Says why, as far as the socket takes it at once. */
    private void turnAway(final SocketChannel accepted) throws IOException {
        server.notes().warn("too many connections; maxConnections is " + server.config().limits().maxConnections(),
            () -> String.valueOf(accepted.socket().getRemoteSocketAddress()));
        try (accepted) {
            accepted.configureBlocking(false);
            final FrameWriter out = new FrameWriter(new Views(1));
            final byte[] text = Status.body("the server has all of its " + server.config().limits().maxConnections()
                + " connections in use; try later, or raise maxConnections");
            out.header(Wire.STATUS, Status.BUSY.code(), 0, 0, 0, text.length);
            out.body(text);
            out.write(accepted);
            accepted.shutdownOutput();
            // What the client has said already must be read, or closing would reset the connection under the text.
            accepted.read(ByteBuffer.allocate(Wire.HEADER_BYTES + Wire.MAX_BODY));
        } catch (final IOException e) {
            LOG.log(Logger.Level.DEBUG, "a connection was turned away without a word: {0}", e.getMessage());
        }
    }
}
