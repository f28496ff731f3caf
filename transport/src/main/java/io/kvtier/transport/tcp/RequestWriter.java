package io.kvtier.transport.tcp;

import io.kvtier.transport.AccessToken;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Writes the requests of a connection as frames. A request is numbered when it is begun; the data of a write follows
 * chunk by chunk, with no other request in between, until all of it is written or the write is cancelled.
 *
 * <p><b>Threading:</b> its loop's.
 */
final class RequestWriter {
    private final FrameWriter out;
    /** A write whose data is on its way. */
    private Request sending;
    private long lastId;
    private int chunkBytes;

    RequestWriter(final FrameWriter out) {
        this.out = out;
    }

    /** Set before the first write. */
    void chunkBytes(final int most) {
        chunkBytes = most;
    }

    /** Whether data of a write is to follow, before any other request. */
    boolean isSending() {
        return sending != null;
    }

    /** The next frame of the write whose data is on its way. */
    void sendOn() {
        sendData(sending);
    }

    /** The first frames of a request. */
    void begin(final Request request) {
        request.started = true;
        request.id = ++lastId;
        final int handle = request.handle == null ? 0 : request.handle.number();
        switch (request.type) {
            case Wire.OPEN -> {
                final byte[] name = request.segment.address().path().getBytes(StandardCharsets.UTF_8);
                final byte[] body = ByteBuffer.allocate(AccessToken.BYTES + name.length)
                    .put(request.segment.token().bytes()).put(name).array();
                out.header(Wire.OPEN, handle, request.id, 0, 0, body.length);
                out.body(body);
            }
            case Wire.READ -> out.header(Wire.READ, handle, request.id, request.offset, request.length, 0);
            case Wire.WRITE -> {
                out.header(Wire.WRITE, handle, request.id, request.offset, request.length, 0);
                sendData(request);
            }
            default -> out.header(request.type, handle, request.id, request.offset, 0, 0);
        }
    }

    private void sendData(final Request request) {
        sending = null;
        if (request.graceNanos != 0) {
            out.header(Wire.ABORT, 0, request.id, 0, 0, 0);
            request.aborted = true;
            request.sentTo = out.added();
            return;
        }
        final int count = (int) Math.min(chunkBytes, request.length - request.moved);
        out.header(Wire.DATA, 0, request.id, request.moved, 0, count);
        out.piece(request.region, request.localOffset + request.moved, count);
        request.moved += count;
        request.sentTo = out.added();
        if (request.moved < request.length) {
            sending = request;
        }
    }
}
