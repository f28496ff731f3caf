package io.kvtier.transport.rpc;

import java.io.IOException;
import java.util.UUID;
import org.msgpack.core.MessagePackException;
import org.msgpack.core.MessageUnpacker;
import org.msgpack.value.ValueType;

/**
 * Reads a message that {@link MessageWriter}, or another MessagePack library, has written. Every length is compared
 * with a limit and with the bytes there are before anything is taken for it.
 *
 * <p>Fields are read from arrays between {@link #begin()} and {@link #end}: fields that the writer did not know are
 * found absent by {@link #has()}, and those that the reader does not know are passed over.
 *
 * <p><b>Threading:</b> for one thread. <b>Errors:</b> all methods throw {@link MalformedMessageException} when the
 * message is not what is read.
 */
public final class MessageReader {
    private static final int MAX_DEPTH = 32;

    private final MessageUnpacker unpacker;
    private final int length;
    private final int[] left = new int[MAX_DEPTH];
    private int depth;

    /**
     * Over a message.
     *
     * @param message MessagePack; not to be changed while it is read.
     */
    public MessageReader(final byte[] message) {
        unpacker = MessagePackLibrary.newUnpacker(message);
        length = message.length;
    }

    private interface Read<T> {
        T run() throws IOException;
    }

    private <T> T reading(final String what, final Read<T> read) {
        if (depth > 0) {
            if (left[depth - 1] == 0) {
                throw new MalformedMessageException("a field is missing: " + what);
            }
            left[depth - 1]--;
        }
        try {
            return read.run();
        } catch (final IOException | MessagePackException e) {
            throw new MalformedMessageException(what + " is expected at byte " + unpacker.getTotalReadBytes() + " of "
                + length + ": " + e.getMessage(), e);
        }
    }

    /**
     * Begins to read an array.
     *
     * @return how many values it has.
     */
    public int begin() {
        return begin(Integer.MAX_VALUE);
    }

    /**
     * Begins to read an array whose length the writer chose.
     *
     * @param max most values that are accepted.
     * @return how many values it has.
     */
    public int begin(final int max) {
        if (depth == MAX_DEPTH) {
            throw new MalformedMessageException("the message is nested more than " + MAX_DEPTH + " deep");
        }
        final int count = reading("an array", unpacker::unpackArrayHeader);
        // Each value takes a byte at least.
        if (count > max || count > length - unpacker.getTotalReadBytes()) {
            throw new MalformedMessageException("an array says that it has " + count + " values; at most " + max
                + " are accepted, and " + (length - unpacker.getTotalReadBytes()) + " bytes are left");
        }
        left[depth++] = count;
        return count;
    }

    /**
     * Whether the array that is being read has a value left.
     *
     * @return false at its end: the writer was older than the field that is asked for.
     */
    public boolean has() {
        return depth > 0 && left[depth - 1] > 0;
    }

    /** Ends an array; values that were not read are passed over. */
    public void end() {
        final int rest = left[depth - 1];
        depth--;
        if (rest > 0) {
            try {
                unpacker.skipValue(rest);
            } catch (final IOException | MessagePackException e) {
                throw new MalformedMessageException("the message ends early: " + e.getMessage(), e);
            }
        }
    }

    /** Ends the message: nothing may follow. */
    public void endMessage() {
        if (depth != 0 || unpacker.getTotalReadBytes() != length) {
            throw new MalformedMessageException("the message has " + (length - unpacker.getTotalReadBytes())
                + " bytes behind its end");
        }
    }

    /**
     * Reads a number.
     *
     * @return 64 bits.
     */
    public long number() {
        return reading("a number", unpacker::unpackLong);
    }

    /**
     * Reads a number that has a range.
     *
     * @param min least.
     * @param max greatest.
     * @return the number.
     */
    public long number(final long min, final long max) {
        final long value = number();
        if (value < min || value > max) {
            throw new MalformedMessageException("the number " + value + " is not from " + min + " to " + max);
        }
        return value;
    }

    /**
     * Reads a truth value.
     *
     * @return true or false.
     */
    public boolean flag() {
        return reading("true or false", unpacker::unpackBoolean);
    }

    /**
     * Reads a text.
     *
     * @param maxBytes most bytes of UTF-8 that are accepted.
     * @return the text.
     */
    public String text(final int maxBytes) {
        return reading("a text", () -> {
            final int bytes = checked(unpacker.unpackRawStringHeader(), maxBytes);
            return Utf8.decode(unpacker.readPayload(bytes));
        });
    }

    /**
     * Reads bytes.
     *
     * @param maxBytes most that are accepted.
     * @return the bytes.
     */
    public byte[] bytes(final int maxBytes) {
        return reading("bytes", () -> unpacker.readPayload(checked(unpacker.unpackBinaryHeader(), maxBytes)));
    }

    /**
     * Reads an identity.
     *
     * @return the identity.
     */
    public UUID uuid() {
        begin();
        final UUID value = new UUID(number(), number());
        end();
        return value;
    }

    /**
     * Passes over a nothing.
     *
     * @return true when there was one; otherwise nothing is read.
     */
    public boolean nothing() {
        try {
            if (!has() || unpacker.getNextFormat().getValueType() != ValueType.NIL) {
                return false;
            }
        } catch (final IOException | MessagePackException e) {
            throw new MalformedMessageException("the message ends early: " + e.getMessage(), e);
        }
        reading("nothing", () -> {
            unpacker.unpackNil();
            return true;
        });
        return true;
    }

    private int checked(final int bytes, final int maxBytes) {
        if (bytes > maxBytes || bytes > length - unpacker.getTotalReadBytes()) {
            throw new MalformedMessageException("a text or binary says that it has " + bytes + " bytes; at most "
                + maxBytes + " are accepted, and " + (length - unpacker.getTotalReadBytes()) + " are left");
        }
        return bytes;
    }
}
