package io.kvtier.transport.tcp;

import java.util.ArrayDeque;

/**
 * What a server has yet to say on a connection, in the order of the requests. A read holds its export from here on
 * until its last byte has been handed to the socket.
 *
 * <p><b>Threading:</b> its loop's. Answers are used again; a status with a text makes small objects.
 */
final class Answers {
    private static final byte[] EMPTY = {};

    private final int chunkBytes;
    private final ArrayDeque<Answer> queue = new ArrayDeque<>();
    /** Reads whose last byte is in the present batch. */
    private final ArrayDeque<Answer> inBatch = new ArrayDeque<>();
    private final ArrayDeque<Answer> spare = new ArrayDeque<>();

    private static final class Answer {
        private int type;
        private int code;
        private long id;
        private ExportedSegment export;
        private long offset;
        private long length;
        private long sent;
        private byte[] text = EMPTY;
    }

    Answers(final int chunkBytes) {
        this.chunkBytes = chunkBytes;
    }

    int size() {
        return queue.size();
    }

    boolean isEmpty() {
        return queue.isEmpty();
    }

    void status(final long id, final Status status, final String text) {
        final Answer answer = next(Wire.STATUS, id);
        answer.code = status.code();
        answer.text = text.isEmpty() ? EMPTY : Status.body(text);
    }

    void opened(final long id, final ExportedSegment export) {
        final Answer answer = next(Wire.OPENED, id);
        answer.code = export.permission() == Permission.READ_WRITE ? Wire.READ_WRITE : Wire.READ_ONLY;
        answer.length = export.region().byteSize();
    }

    /** The bytes of a range; the export is held already. */
    void data(final long id, final ExportedSegment export, final long offset, final long length) {
        final Answer answer = next(Wire.DATA, id);
        answer.export = export;
        answer.offset = offset;
        answer.length = length;
    }

    /** Puts as much into a batch as goes into it. */
    void fill(final FrameWriter out) {
        while (out.hasRoom() && !queue.isEmpty()) {
            final Answer answer = queue.peek();
            if (answer.type != Wire.DATA) {
                small(out, queue.poll());
                continue;
            }
            final int count = (int) Math.min(chunkBytes, answer.length - answer.sent);
            out.header(Wire.DATA, 0, answer.id, answer.sent, 0, count);
            out.piece(answer.export.region(), answer.offset + answer.sent, count);
            answer.sent += count;
            if (answer.sent == answer.length) {
                inBatch.add(queue.poll());
            }
        }
    }

    /** Puts the answers without data that come first into a batch. */
    void fillSmall(final FrameWriter out) {
        while (out.hasRoom() && !queue.isEmpty() && queue.peek().type != Wire.DATA) {
            small(out, queue.poll());
        }
    }

    /** The present batch is in the hands of the kernel. */
    void batchSent() {
        while (!inBatch.isEmpty()) {
            giveBack(inBatch.poll());
        }
    }

    /** When the first export was closed that a read still holds; 0 for none. */
    long closedNanos() {
        long first = 0;
        for (final Answer answer : inBatch) {
            first = earlier(first, answer.export);
        }
        for (final Answer answer : queue) {
            first = earlier(first, answer.export);
        }
        return first;
    }

    /** When an export was closed, or the time given if that is before; 0 for neither. */
    static long earlier(final long nanos, final ExportedSegment export) {
        final long closed = export == null ? 0 : export.closedNanos();
        return nanos == 0 || closed != 0 && closed - nanos < 0 ? closed : nanos;
    }

    /** Nothing more is said; the connection is closed. */
    void drop() {
        batchSent();
        while (!queue.isEmpty()) {
            giveBack(queue.poll());
        }
    }

    private void small(final FrameWriter out, final Answer answer) {
        out.header(answer.type, answer.code, answer.id, 0, answer.length, answer.text.length);
        out.body(answer.text);
        giveBack(answer);
    }

    private Answer next(final int type, final long id) {
        final Answer kept = spare.poll();
        final Answer answer = kept != null ? kept : new Answer();
        answer.type = type;
        answer.id = id;
        queue.add(answer);
        return answer;
    }

    private void giveBack(final Answer answer) {
        if (answer.export != null) {
            answer.export.endUse();
        }
        answer.code = 0;
        answer.export = null;
        answer.offset = 0;
        answer.length = 0;
        answer.sent = 0;
        answer.text = EMPTY;
        spare.add(answer);
    }
}
