package io.kvtier.transport.tcp;

import io.kvtier.alloc.HostMemory;
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

    Request of(final Slice one, final int way) {
        type = way;
        segment = (TcpSegment) one.handle();
        slice = one;
        region = (HostMemory) one.region();
        localOffset = one.localOffset();
        offset = one.offset();
        length = one.length();
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
        started = false;
        aborted = false;
        graceNanos = 0;
    }

    void clear() {
        segment = null;
        slice = null;
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
