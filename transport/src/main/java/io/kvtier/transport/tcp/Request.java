package io.kvtier.transport.tcp;

import io.kvtier.alloc.HostMemory;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Slice;
import java.util.concurrent.CompletableFuture;

/**
 * What a client wants of a server: a slice to move, or a frame of its own. Those of slices are used again.
 *
 * <p><b>Threading:</b> one loop's.
 */
final class Request {
    /** {@link Wire}'s number of the frame. */
    int type;
    /** Which segment; null for a fence. */
    TcpSegment segment;
    /** Null once the slice has been ended, and for what is none. */
    Slice slice;
    /** Completed by the answer to an OPEN that somebody waits for; null for others. */
    CompletableFuture<TcpSegment> opening;
    /** The stage whose part of the slice this moves; null for what moves a whole slice. */
    Stage stage;
    HostMemory region;
    long localOffset;
    long offset;
    long length;
    long queuedNanos;
    int attempts;
    /** What follows is of the present attempt. */
    long id;
    LaneHandles.Handle handle;
    /** Bytes that were received, or handed to the socket. */
    long moved;
    /** Where the last byte of a write, or of its end, lies in what the connection sends. */
    long sentTo;
    boolean started;
    boolean aborted;
    /** Until when a cancelled write may keep its connection; 0 when it was not cancelled. */
    long graceNanos;

    static Request of(final int type, final TcpSegment segment, final long offset) {
        final Request request = new Request();
        request.type = type;
        request.segment = segment;
        request.offset = offset;
        request.queuedNanos = System.nanoTime();
        return request;
    }

    Request of(final Slice one) {
        region = (HostMemory) one.region();
        localOffset = one.localOffset();
        offset = one.offset();
        length = one.length();
        return begin(one);
    }

    Request of(final Stage one) {
        final Slice whole = one.slice().slice();
        stage = one;
        region = one.memory();
        localOffset = one.offset();
        offset = whole.offset() + one.from();
        length = one.length();
        return begin(whole);
    }

    private Request begin(final Slice one) {
        type = one.direction() == Direction.READ ? Wire.READ : Wire.WRITE;
        segment = (TcpSegment) one.handle();
        slice = one;
        queuedNanos = System.nanoTime();
        attempts = 0;
        reset();
        return this;
    }

    /** Forgets the attempt. */
    void reset() {
        id = 0;
        handle = null;
        moved = 0;
        sentTo = 0;
        started = false;
        aborted = false;
        graceNanos = 0;
    }

    void clear() {
        segment = null;
        slice = null;
        stage = null;
        opening = null;
        region = null;
        reset();
    }

    boolean isTransfer() {
        return type == Wire.READ || type == Wire.WRITE;
    }

    /** Whether somebody still waits for its end. */
    boolean isAwaited() {
        return slice != null || opening != null;
    }
}
