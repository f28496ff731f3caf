package io.kvtier.transport.tcp;

import io.kvtier.alloc.HostMemory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.GatheringByteChannel;

/**
 * Frames on their way out: a batch of headers and pieces of memory that goes by one gathered write, as far as the
 * socket takes it. A new batch begins when the last one has gone.
 *
 * <pre>
 *   heads   [header header][header][header body]            views[i] from one piece to the next
 *   batch    ^ views[0]    data[0] ^ views[1] data[1] ...
 * </pre>
 *
 * <p><b>Threading:</b> one thread. Makes no objects once the views of the regions are made, but for about 40 bytes a
 * piece that the JDK takes to keep a region's arena open during the call.
 */
final class FrameWriter {
    /** Most pieces of memory in a batch. */
    static final int PIECES = 32;

    private static final int MAX_BATCH_BYTES = 2 << 20;
    private static final int HEADS_BYTES = 8 << 10;
    private static final int ROOM = 2 * Wire.HEADER_BYTES + Wire.MAX_BODY;

    private final ByteBuffer heads = ByteBuffer.allocateDirect(HEADS_BYTES);
    private final ByteBuffer[] headViews = new ByteBuffer[PIECES + 1];
    private final ByteBuffer[] batch = new ByteBuffer[2 * PIECES + 1];
    private final Views views;
    private int version = Wire.VERSION;
    private int runStart;
    private int runs;
    private int pieces;
    private int count;
    private int first;
    private boolean sealed;
    private long bytes;
    private long gone;

    FrameWriter(final Views views) {
        this.views = views;
        for (int i = 0; i < headViews.length; i++) {
            headViews[i] = heads.duplicate();
        }
    }

    /** Which version the frames carry. */
    void version(final int agreed) {
        version = agreed;
    }

    /** Whether nothing is waiting to be written. */
    boolean isEmpty() {
        return bytes == 0;
    }

    /** Whether another header with a small body, and a piece, fit the batch; never once writing has begun. */
    boolean hasRoom() {
        return !sealed && pieces < PIECES && bytes < MAX_BATCH_BYTES && heads.remaining() >= ROOM;
    }

    /** How many bytes have been added so far, ever. */
    long added() {
        return gone + bytes;
    }

    /** How many of them the socket has taken. */
    long gone() {
        return gone;
    }

    /** Adds a header. */
    void header(final int type, final int code, final long id, final long offset, final long length,
        final long body) {
        final int at = heads.position();
        heads.putShort(at, Wire.MAGIC);
        heads.put(at + Wire.VERSION_AT, (byte) version);
        heads.put(at + Wire.TYPE_AT, (byte) type);
        heads.putInt(at + Wire.CODE_AT, code);
        heads.putLong(at + Wire.ID_AT, id);
        heads.putLong(at + Wire.OFFSET_AT, offset);
        heads.putLong(at + Wire.LENGTH_AT, length);
        heads.putLong(at + Wire.BODY_AT, body);
        heads.position(at + Wire.HEADER_BYTES);
        bytes += Wire.HEADER_BYTES;
    }

    /** Adds the bytes that belong to the last header. */
    void body(final byte[] small) {
        heads.put(small);
        bytes += small.length;
    }

    /** Adds memory that belongs to the last header. */
    void piece(final HostMemory region, final long offset, final int length) {
        endRun();
        // The places of a batch are not those of the reader, which is 0.
        batch[count++] = views.at(1 + pieces, region, offset, length);
        pieces++;
        bytes += length;
    }

    /**
     * Writes what the socket takes.
     *
     * @return bytes written; the batch is over when {@link #isEmpty()}.
     */
    long write(final GatheringByteChannel channel) throws IOException {
        if (!sealed) {
            endRun();
            sealed = true;
        }
        final long written = count - first == 1 ? channel.write(batch[first])
            : channel.write(batch, first, count - first);
        bytes -= written;
        gone += written;
        while (first < count && !batch[first].hasRemaining()) {
            first++;
        }
        if (bytes == 0) {
            heads.clear();
            runStart = 0;
            runs = 0;
            pieces = 0;
            count = 0;
            first = 0;
            sealed = false;
        }
        return written;
    }

    private void endRun() {
        final int end = heads.position();
        if (end > runStart) {
            batch[count++] = headViews[runs++].limit(end).position(runStart);
            runStart = end;
        }
    }
}
