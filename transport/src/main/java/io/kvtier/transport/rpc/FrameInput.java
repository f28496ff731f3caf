package io.kvtier.transport.rpc;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;

/**
 * Reads frames from a stream, one after another. A read that is interrupted by a time-out of the socket loses nothing:
 * the next call goes on where it stopped.
 *
 * <p><b>Threading:</b> for one thread at a time, which hands it on under a lock.
 */
final class FrameInput {
    private static final int BUFFER_BYTES = 16 << 10;
    /** Room for a body before any of it has come; it then grows with what comes, whatever was announced. */
    private static final int FIRST_BODY_BYTES = 64 << 10;
    private static final byte[] EMPTY = {};

    private final InputStream in;
    private final byte[] buffer = new byte[BUFFER_BYTES];
    private int start;
    private int end;
    private boolean hasHeader;
    private int type;
    private int code;
    private long id;
    private long limitMs;
    private byte[] body = EMPTY;
    private int bodyLength;
    private int bodyRead;

    FrameInput(final InputStream in) {
        this.in = in;
    }

    /**
     * Reads the next frame.
     *
     * @param maxBody most bytes of body that are accepted.
     * @throws EOFException when the peer ended the connection.
     * @throws RpcException when what comes is no frame of this version, or one that is too large.
     */
    void next(final int maxBody) throws IOException {
        if (!hasHeader) {
            while (end - start < RpcFrame.HEADER_BYTES) {
                fill();
            }
            takeHeader(maxBody);
        }
        while (bodyRead < bodyLength) {
            readBody();
        }
        hasHeader = false;
    }

    /** Whether a whole frame lies in the buffer, so that reading it will not block. */
    boolean hasBuffered() {
        return end - start >= RpcFrame.HEADER_BYTES
            && end - start - RpcFrame.HEADER_BYTES >= RpcFrame.body(buffer, start);
    }

    int type() {
        return type;
    }

    int code() {
        return code;
    }

    long id() {
        return id;
    }

    long limitMs() {
        return limitMs;
    }

    /** The body of the last frame, if it was not taken; nobody else refers to it. */
    byte[] body() {
        return body;
    }

    /** The same; this does not refer to it any more. */
    byte[] takeBody() {
        final byte[] taken = body;
        body = EMPTY;
        return taken;
    }

    private void takeHeader(final int maxBody) {
        if (!RpcFrame.isFrame(buffer, start)) {
            throw new RpcException(RpcStatus.MALFORMED, "what came is no frame of this protocol", null);
        }
        if (RpcFrame.version(buffer, start) != RpcFrame.VERSION) {
            throw new RpcException(RpcStatus.VERSION, "a frame of version " + RpcFrame.version(buffer, start)
                + " came; version " + RpcFrame.VERSION + " is spoken here", null);
        }
        type = RpcFrame.type(buffer, start);
        code = RpcFrame.code(buffer, start);
        id = RpcFrame.id(buffer, start);
        limitMs = RpcFrame.limitMs(buffer, start);
        final long length = RpcFrame.body(buffer, start);
        if (length > maxBody) {
            throw new RpcException(RpcStatus.TOO_LARGE, "a body of " + length + " bytes was announced; at most "
                + maxBody + " are taken", null);
        }
        start += RpcFrame.HEADER_BYTES;
        bodyLength = (int) length;
        body = length == 0 ? EMPTY : new byte[Math.min(bodyLength, FIRST_BODY_BYTES)];
        bodyRead = 0;
        hasHeader = true;
    }

    private void readBody() throws IOException {
        if (bodyRead == body.length) {
            body = Arrays.copyOf(body, (int) Math.min(bodyLength, 2L * body.length));
        }
        final int wanted = body.length - bodyRead;
        if (end > start) {
            final int count = Math.min(wanted, end - start);
            System.arraycopy(buffer, start, body, bodyRead, count);
            start += count;
            bodyRead += count;
        } else if (wanted >= BUFFER_BYTES) {
            bodyRead += checked(in.read(body, bodyRead, wanted));
        } else {
            fill();
        }
    }

    private void fill() throws IOException {
        if (start == end) {
            start = 0;
            end = 0;
        } else if (end == buffer.length) {
            System.arraycopy(buffer, start, buffer, 0, end - start);
            end -= start;
            start = 0;
        }
        end += checked(in.read(buffer, end, buffer.length - end));
    }

    private static int checked(final int count) throws EOFException {
        if (count < 0) {
            throw new EOFException("the peer ended the connection");
        }
        return count;
    }
}
