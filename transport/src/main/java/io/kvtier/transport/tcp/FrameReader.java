package io.kvtier.transport.tcp;

import io.kvtier.alloc.HostMemory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ScatteringByteChannel;

/**
 * Frames on their way in. Headers and small bodies come into a small buffer of its own; the bytes of DATA go straight
 * into the memory that the handler names, but for those few that came along with their header.
 *
 * <p>Announced lengths are compared with the handler's limit before anything is done about them.
 *
 * <p><b>Threading:</b> one thread. Makes no objects once the views of the regions are made, but for about 40 bytes a
 * scattered read that the JDK takes to keep a region's arena open during the call.
 */
final class FrameReader {
    /** Who understands the frames. */
    interface Handler {
        /**
         * A frame has come whole, or, for DATA, its header; the handler then calls {@link #into} or
         * {@link #passOver}.
         */
        void frame(FrameReader in) throws IOException;

        /** The last byte of DATA has come. */
        void dataEnded() throws IOException;

        /** Whether to leave the frames that have come already where they are for now. */
        boolean isPaused();
    }

    private static final int SMALL_BYTES = 4 << 10;
    private static final int SCATTER_BELOW = 256 << 10;
    private static final int DISCARD_BYTES = 64 << 10;

    private final Handler handler;
    private final Views views;
    private final ByteBuffer small = ByteBuffer.allocateDirect(SMALL_BYTES);
    private final ByteBuffer[] pair = {null, small};
    private ByteBuffer discard;
    private int start;
    private int end;
    private int lookahead = Wire.HEADER_BYTES;
    private int version;
    private HostMemory sink;
    private long sinkOffset;
    private long dataLeft;
    private boolean drained;

    FrameReader(final Handler handler, final Views views) {
        this.handler = handler;
        this.views = views;
    }

    /** From now on only frames of this version are understood. */
    void version(final int agreed) {
        version = agreed;
    }

    /** How many bytes of headers are likely to come next; what comes of data with them has to be copied. */
    void lookahead(final int bytes) {
        lookahead = bytes;
    }

    int type() {
        return small.get(start + Wire.TYPE_AT) & 0xFF;
    }

    int code() {
        return small.getInt(start + Wire.CODE_AT);
    }

    long id() {
        return small.getLong(start + Wire.ID_AT);
    }

    long offset() {
        return small.getLong(start + Wire.OFFSET_AT);
    }

    long length() {
        return small.getLong(start + Wire.LENGTH_AT);
    }

    long bodyLength() {
        return small.getLong(start + Wire.BODY_AT);
    }

    /** The body of a frame that is not DATA: a copy. */
    byte[] body() {
        final byte[] bytes = new byte[(int) bodyLength()];
        small.get(start + Wire.HEADER_BYTES, bytes);
        return bytes;
    }

    /** Where the body of the DATA frame goes that the handler has just been told of. */
    void into(final HostMemory region, final long offset) {
        sink = region;
        sinkOffset = offset;
    }

    /** The body of the present DATA frame, or what has not come of it yet, goes nowhere. */
    void passOver() {
        sink = null;
    }

    /** Whether a frame has begun and is not over. */
    boolean isInFrame() {
        return dataLeft > 0 || end > start;
    }

    /** Whether the last read got less than it had room for: the next one would most likely get nothing. */
    boolean isDrained() {
        return drained;
    }

    /**
     * Reads once and hands the frames over that are complete then.
     *
     * @return bytes read; -1 at the end of the stream.
     */
    long read(final ScatteringByteChannel channel) throws IOException {
        final long count = dataLeft > 0 ? readData(channel) : readSmall(channel);
        if (count > 0) {
            parse();
        }
        return count;
    }

    /** Hands over what has come already, after a pause. */
    void parse() throws IOException {
        // Reads by index are checked against the limit.
        small.clear();
        while (!handler.isPaused()) {
            if (dataLeft > 0) {
                if (end == start) {
                    return;
                }
                copyData();
            } else if (end - start < Wire.HEADER_BYTES) {
                return;
            } else {
                checkHeader();
                if (type() == Wire.DATA) {
                    beginData();
                } else if (end - start >= Wire.HEADER_BYTES + bodyLength()) {
                    handler.frame(this);
                    start += Wire.HEADER_BYTES + (int) bodyLength();
                } else {
                    return;
                }
            }
        }
    }

    private void checkHeader() throws PeerException {
        final int seen = small.get(start + Wire.VERSION_AT) & 0xFF;
        if (small.getShort(start) != Wire.MAGIC) {
            throw new PeerException(Status.PROTOCOL, "the peer sent bytes that are no frame of this protocol: they "
                + "begin with 0x" + Integer.toHexString(small.getInt(start)));
        }
        if (version != 0 && seen != version) {
            throw new PeerException(Status.PROTOCOL, "the peer sent a frame of version " + seen + " where version "
                + version + " was agreed");
        }
        if (type() != Wire.DATA && Long.compareUnsigned(bodyLength(), Wire.MAX_BODY) > 0) {
            throw new PeerException(Status.PROTOCOL, "the peer announced " + Long.toUnsignedString(bodyLength())
                + " bytes of a frame of type " + type() + ", which has at most " + Wire.MAX_BODY);
        }
    }

    private void beginData() throws IOException {
        sink = null;
        handler.frame(this);
        dataLeft = bodyLength();
        start += Wire.HEADER_BYTES;
        if (dataLeft == 0) {
            handler.dataEnded();
        }
    }

    private void copyData() throws IOException {
        final int count = (int) Math.min(dataLeft, end - start);
        if (sink != null) {
            final ByteBuffer view = views.at(0, sink, sinkOffset, count);
            view.put(view.position(), small, start, count);
            sink.raiseFault();
        }
        start += count;
        took(count);
    }

    private long readData(final ScatteringByteChannel channel) throws IOException {
        // Nothing else is left in the small buffer while data is missing.
        start = 0;
        end = 0;
        final int wanted = (int) Math.min(dataLeft, sink == null ? DISCARD_BYTES : Views.MAX_PIECE);
        final ByteBuffer view = sink == null ? discardView(wanted) : views.at(0, sink, sinkOffset, wanted);
        long count = 0;
        if (wanted == dataLeft && wanted <= SCATTER_BELOW) {
            pair[0] = view;
            small.limit(lookahead).position(0);
            count = channel.read(pair);
            drained = count < wanted + lookahead;
        } else {
            count = channel.read(view);
            drained = count < wanted;
        }
        if (count > 0) {
            end = (int) Math.max(0, count - wanted);
            took(Math.min(count, wanted));
        }
        return count;
    }

    private long readSmall(final ScatteringByteChannel channel) throws IOException {
        if (start == end) {
            start = 0;
            end = 0;
        } else if (SMALL_BYTES - start < Wire.HEADER_BYTES + Wire.MAX_BODY) {
            small.limit(end).position(start).compact();
            end -= start;
            start = 0;
        }
        final int missing = end - start < Wire.HEADER_BYTES ? Wire.HEADER_BYTES - (end - start)
            : Wire.HEADER_BYTES + (int) bodyLength() - (end - start);
        small.limit(Math.min(SMALL_BYTES, end + Math.max(missing, lookahead))).position(end);
        final int count = channel.read(small);
        drained = small.hasRemaining();
        end += Math.max(0, count);
        return count;
    }

    private void took(final long count) throws IOException {
        sinkOffset += count;
        dataLeft -= count;
        if (dataLeft == 0) {
            sink = null;
            handler.dataEnded();
        }
    }

    private ByteBuffer discardView(final int wanted) {
        if (discard == null) {
            discard = ByteBuffer.allocateDirect(DISCARD_BYTES);
        }
        return discard.limit(wanted).position(0);
    }
}
