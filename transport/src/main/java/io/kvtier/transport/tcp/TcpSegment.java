package io.kvtier.transport.tcp;

import io.kvtier.transport.AccessToken;
import io.kvtier.transport.SegmentAddress;
import io.kvtier.transport.TransportSegment;
import java.util.function.Consumer;

/**
 * What a client has open of a server's segment. It has a handle on each connection that was used for it.
 *
 * <p><b>Threading:</b> thread-safe; size and permission are those of the last time that a connection opened it.
 */
final class TcpSegment implements TransportSegment {
    private final Peer peer;
    private final SegmentAddress address;
    private final AccessToken token;
    private final Consumer<TcpSegment> whenClosed;
    private volatile long byteSize;
    private volatile boolean writable;
    private volatile long maxRequestBytes;
    private boolean closed;

    TcpSegment(final Peer peer, final SegmentAddress address, final AccessToken token,
        final Consumer<TcpSegment> whenClosed) {
        this.peer = peer;
        this.address = address;
        this.token = token;
        this.whenClosed = whenClosed;
    }

    void opened(final long size, final boolean isWritable, final long longestRequest) {
        byteSize = size;
        writable = isWritable;
        maxRequestBytes = longestRequest;
    }

    Peer peer() {
        return peer;
    }

    SegmentAddress address() {
        return address;
    }

    AccessToken token() {
        return token;
    }

    boolean isWritable() {
        return writable;
    }

    long maxRequestBytes() {
        return maxRequestBytes;
    }

    @Override
    public long byteSize() {
        return byteSize;
    }

    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        whenClosed.accept(this);
    }
}
