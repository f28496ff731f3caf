package io.kvtier.transport.rpc;

import java.util.Arrays;
import org.msgpack.core.buffer.MessageBuffer;
import org.msgpack.core.buffer.MessageBufferOutput;

/**
 * One growing array that MessagePack for Java writes to, kept from message to message. A message that fits is written
 * where it stays; only when the array grows is a buffer taken for the rest of it.
 *
 * <p><b>Threading:</b> for one thread.
 */
final class MessageOutput implements MessageBufferOutput {
    private static final int FIRST_BYTES = 512;
    /** What JVMs refuse to make arrays of. */
    static final int MAX_BYTES = Integer.MAX_VALUE - 8;

    private final int limit;
    private byte[] array = new byte[FIRST_BYTES];
    /** Over all of the array. */
    private MessageBuffer whole = MessagePackLibrary.wrap(array);
    /** Before this stands what the library is done with. */
    private int done;

    /** One of a message that has at most so many bytes. */
    MessageOutput(final int limit) {
        this.limit = Math.min(limit, MAX_BYTES);
    }

    byte[] array() {
        return array;
    }

    /** Forgets what the library is done with from here on. */
    void cutTo(final int length) {
        done = length;
    }

    @Override
    public MessageBuffer next(final int minimumSize) {
        ensureRoom(minimumSize);
        return done == 0 ? whole : whole.slice(done, array.length - done);
    }

    @Override
    public void writeBuffer(final int length) {
        done += length;
    }

    @Override
    public void write(final byte[] bytes, final int offset, final int length) {
        ensureRoom(length);
        System.arraycopy(bytes, offset, array, done, length);
        done += length;
    }

    @Override
    public void add(final byte[] bytes, final int offset, final int length) {
        write(bytes, offset, length);
    }

    private void ensureRoom(final int bytes) {
        if (array.length - done < bytes) {
            final long needed = (long) done + bytes;
            if (needed > limit) {
                throw new RpcException(RpcStatus.INTERNAL, "a message of more than " + limit + " bytes; send it, or"
                    + " ask for it, in parts", null);
            }
            array = Arrays.copyOf(array, (int) Math.min(Math.max(needed, 2L * array.length), limit));
            whole = MessagePackLibrary.wrap(array);
        }
    }

    @Override
    public void flush() {
        // The bytes are where they stay.
    }

    @Override
    public void close() {
        // There is nothing to give back.
    }
}
