package io.kvtier.transport.tcp;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import java.io.IOException;
import java.lang.System.Logger;
import java.net.StandardSocketOptions;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;

/**
 * A socket of a loop, with its frames in and out: what both ends of a connection have in common.
 *
 * <p><b>Threading:</b> its loop's. <b>Lifetime:</b> counted as a descriptor until it is closed.
 */
final class Connection {
    /** Bytes after which one connection lets the others of its loop have a turn. */
    static final long TURN_BYTES = 4L << 20;

    private static final Logger LOG = System.getLogger(Connection.class.getName());

    private final SocketChannel channel;
    private final Views views = new Views(FrameWriter.PIECES + 1);
    private final FrameReader reader;
    private final FrameWriter writer;
    private SelectionKey key;
    private int interest;
    private boolean closed;

    /**
     * A connection.
     *
     * @param sendBuffer bytes that the kernel may hold of what was sent; 0 to leave it to the kernel, which lets it
     *                   grow to megabytes: the bytes have left the caches then before the other end copies them.
     */
    Connection(final SocketChannel channel, final FrameReader.Handler handler, final int sendBuffer)
        throws IOException {
        this.channel = channel;
        NativeResources.created(NativeTag.FILE_DESCRIPTOR, 0);
        try {
            this.reader = new FrameReader(handler, views);
            this.writer = new FrameWriter(views);
            channel.configureBlocking(false);
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            if (sendBuffer > 0) {
                channel.setOption(StandardSocketOptions.SO_SNDBUF, sendBuffer);
            }
        } catch (final IOException | RuntimeException | Error e) {
            // An error: there is no memory for its buffers.
            close();
            throw e;
        }
    }

    void register(final Loop loop, final int operations, final Loop.Ready ready) throws IOException {
        key = loop.register(channel, operations, ready);
        interest = operations;
    }

    /** Which readiness is waited for. */
    void interest(final int operations) {
        if (interest != operations) {
            interest = operations;
            key.interestOps(operations);
        }
    }

    /** Whether the socket was full the last time, so that writing goes on when it is not. */
    boolean isFull() {
        return (interest & SelectionKey.OP_WRITE) != 0;
    }

    SocketChannel channel() {
        return channel;
    }

    FrameReader in() {
        return reader;
    }

    FrameWriter out() {
        return writer;
    }

    /** Lets go the objects of regions that are not in use now; nothing is under way. */
    void forgetRegions() {
        views.clear();
    }

    void close() {
        // Not by the channel's own word: it closes itself when it cannot connect.
        if (closed) {
            return;
        }
        closed = true;
        try {
            channel.close();
        } catch (final IOException e) {
            LOG.log(Logger.Level.DEBUG, "a connection did not close cleanly", e);
        }
        NativeResources.released(NativeTag.FILE_DESCRIPTOR, 0);
        views.clear();
    }
}
