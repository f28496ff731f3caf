package io.kvtier.transport.rpc;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.UUID;
import org.msgpack.core.MessageFormat;
import org.msgpack.core.MessageInsufficientBufferException;
import org.msgpack.core.MessageIntegerOverflowException;
import org.msgpack.core.MessagePackException;
import org.msgpack.core.MessageUnpacker;
import org.msgpack.core.buffer.ArrayBufferInput;

/**
 * Reads a message that {@link MessageWriter}, or another MessagePack library, has written. Every length is compared
 * with a limit and with the bytes there are before anything is taken for it.
 *
 * <p>Fields are read from arrays between {@link #begin()} and {@link #end}: fields that the writer did not know are
 * found absent by {@link #has()}, and those that the reader does not know are passed over, whatever they are.
 *
 * <p>MessagePack for Java does the reading, with one unpacker that is kept from message to message. The message itself
 * is looked at only where the library cannot say what is wanted: to compare values with known bytes, and to copy them
 * as they stand.
 *
 * <p><b>Threading:</b> for one thread. May be {@linkplain #reset reset} and used again. <b>Errors:</b> all methods
 * throw {@link MalformedMessageException} when the message is not what is read.
 */
public final class MessageReader {
    private static final int MAX_DEPTH = 32;
    /** Texts up to this long cost no array but their own. */
    private static final int SHORT_TEXT = 512;
    private static final char REPLACEMENT = '\ufffd';
    private static final byte[] NO_BYTES = {};

    private final ArrayBufferInput input = MessagePackLibrary.newInput();
    private final MessageUnpacker unpacker = MessagePackLibrary.newUnpacker(input);
    private final int[] left = new int[MAX_DEPTH];
    private byte[] message = NO_BYTES;
    private byte[] text;
    private int depth;

    /** Over no message yet: to be {@linkplain #reset reset}. */
    public MessageReader() {
        // What is read from it ends early.
    }

    /**
     * Over a message.
     *
     * @param message MessagePack; not to be changed while it is read.
     */
    public MessageReader(final byte[] message) {
        reset(message);
    }

    /**
     * Begins another message, whatever was left of the one before.
     *
     * @param next MessagePack; not to be changed while it is read.
     */
    public void reset(final byte[] next) {
        input.reset(next);
        begin(next);
    }

    /** Lets go of the message. */
    public void clear() {
        input.close();
        begin(NO_BYTES);
    }

    private void begin(final byte[] next) {
        try {
            unpacker.reset(input);
        } catch (final IOException e) {
            throw malformed("a message", e);
        }
        message = next;
        depth = 0;
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
        count("an array");
        final int count;
        try {
            count = unpacker.unpackArrayHeader();
        } catch (final IOException | MessagePackException e) {
            throw malformed("an array", e);
        }
        // Each value takes a byte at least.
        if (count > max || count > bytesLeft()) {
            throw new MalformedMessageException("an array says that it has " + count + " values; at most " + max
                + " are accepted, and " + bytesLeft() + " bytes are left");
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
        final int rest = left[--depth];
        if (rest > 0) {
            skip(rest);
        }
    }

    /** Ends the message: nothing may follow. */
    public void endMessage() {
        if (depth != 0 || bytesLeft() != 0) {
            throw new MalformedMessageException("the message has " + bytesLeft() + " bytes behind its end");
        }
    }

    /**
     * Reads a number.
     *
     * @return 64 bits.
     */
    public long number() {
        count("a number");
        try {
            return unpacker.unpackLong();
        } catch (final IOException | MessagePackException e) {
            throw malformed("a number", e);
        }
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
        count("true or false");
        try {
            return unpacker.unpackBoolean();
        } catch (final IOException | MessagePackException e) {
            throw malformed("true or false", e);
        }
    }

    /**
     * Reads a text.
     *
     * @param maxBytes most bytes of UTF-8 that are accepted.
     * @return the text.
     */
    public String text(final int maxBytes) {
        count("a text");
        try {
            final int bytes = checked(unpacker.unpackRawStringHeader(), maxBytes);
            if (bytes == 0) {
                return "";
            }
            final byte[] utf8 = room(bytes);
            unpacker.readPayload(utf8, 0, bytes);
            final String value = new String(utf8, 0, bytes, StandardCharsets.UTF_8);
            // The constructor puts U+FFFD for what is no UTF-8; a text may also have that character of its own.
            return value.indexOf(REPLACEMENT) < 0 ? value : strict(Arrays.copyOf(utf8, bytes));
        } catch (final IOException | MessagePackException e) {
            throw malformed("a text", e);
        }
    }

    /**
     * Reads bytes.
     *
     * @param maxBytes most that are accepted.
     * @return the bytes.
     */
    public byte[] bytes(final int maxBytes) {
        count("bytes");
        try {
            // The library takes a short text for bytes, whatever it is told.
            if (unpacker.getNextFormat() == MessageFormat.FIXSTR) {
                throw new MalformedMessageException("bytes are expected at byte " + position() + " of "
                    + message.length + "; there is a text");
            }
            return unpacker.readPayload(checked(unpacker.unpackBinaryHeader(), maxBytes));
        } catch (final IOException | MessagePackException e) {
            throw malformed("bytes", e);
        }
    }

    /**
     * Reads an identity.
     *
     * @return the identity.
     */
    public UUID uuid() {
        begin();
        final long high = number();
        final long low = number();
        end();
        return new UUID(high, low);
    }

    /**
     * Passes over a nothing.
     *
     * @return true when there was one; otherwise nothing is read.
     */
    public boolean nothing() {
        if (!has()) {
            return false;
        }
        try {
            if (!unpacker.tryUnpackNil()) {
                return false;
            }
        } catch (final IOException | MessagePackException e) {
            throw malformed("nothing or a value", e);
        }
        left[depth - 1]--;
        return true;
    }

    /**
     * Reads one value of any kind as it stands, to be written again by {@link MessageWriter#raw}.
     *
     * @param maxBytes most that are accepted.
     * @return MessagePack.
     */
    public byte[] raw(final int maxBytes) {
        count("a value");
        final int from = position();
        skip(1);
        final int to = position();
        if (to - from > maxBytes) {
            throw new MalformedMessageException("a value has " + (to - from) + " bytes; at most " + maxBytes
                + " are accepted");
        }
        return Arrays.copyOfRange(message, from, to);
    }

    /**
     * Passes over the next values when they are just these: to know again what was read before without reading it.
     *
     * @param encoded MessagePack, whole values.
     * @param values  how many values that is.
     * @return whether they were there; otherwise nothing is read.
     */
    public boolean passIf(final byte[] encoded, final int values) {
        final int from = position();
        if (depth == 0 || left[depth - 1] < values || message.length - from < encoded.length
            || !Arrays.equals(message, from, from + encoded.length, encoded, 0, encoded.length)) {
            return false;
        }
        try {
            // Known bytes are well-formed, which is what skip does not trust others to be.
            unpacker.skipValue(values);
        } catch (final IOException | MessagePackException e) {
            throw malformed("a known value", e);
        }
        left[depth - 1] -= values;
        return true;
    }

    /** Takes one value off the array that is being read. */
    private void count(final String what) {
        if (depth > 0 && left[depth - 1]-- == 0) {
            throw new MalformedMessageException("a field is missing: " + what);
        }
    }

    private int position() {
        return (int) unpacker.getTotalReadBytes();
    }

    private int bytesLeft() {
        return message.length - position();
    }

    private int checked(final int bytes, final int maxBytes) {
        if (bytes > maxBytes || bytes > bytesLeft()) {
            throw new MalformedMessageException("a text or binary says that it has " + bytes + " bytes; at most "
                + maxBytes + " are accepted, and " + bytesLeft() + " are left");
        }
        return bytes;
    }

    private byte[] room(final int bytes) {
        if (bytes > SHORT_TEXT) {
            return new byte[bytes];
        }
        if (text == null) {
            text = new byte[SHORT_TEXT];
        }
        return text;
    }

    /**
     * Passes over values. Those inside them are counted here, in 64 bits, and not by the library: its count of 32 bits
     * overflows when a message says so, and takes the value for a shorter one.
     */
    private void skip(final int values) {
        long rest = values;
        try {
            while (rest > 0) {
                if (rest > bytesLeft()) {
                    throw early(rest + " values");
                }
                switch (unpacker.getNextFormat().getValueType()) {
                    case ARRAY -> rest += unpacker.unpackArrayHeader();
                    case MAP -> rest += 2L * unpacker.unpackMapHeader();
                    default -> unpacker.skipValue();
                }
                rest--;
            }
        } catch (final IOException | MessagePackException e) {
            throw malformed("a value", e);
        }
    }

    private static String strict(final byte[] utf8) {
        try {
            return Utf8.decode(utf8);
        } catch (final CharacterCodingException e) {
            throw new MalformedMessageException("a text is not UTF-8: " + e.getMessage(), e);
        }
    }

    private MalformedMessageException early(final String what) {
        return new MalformedMessageException("the message ends early: " + what + " is expected by byte " + position()
            + " of " + message.length);
    }

    /** What the library says, and where it was then. */
    private MalformedMessageException malformed(final String what, final Exception e) {
        if (e instanceof MessageInsufficientBufferException) {
            return early(what);
        }
        final String reason = e instanceof final MessageIntegerOverflowException overflow
            ? overflow.getBigInteger() + " does not fit 64 bits with a sign" : e.getMessage();
        return new MalformedMessageException(what + " is expected by byte " + position() + " of " + message.length
            + ": " + reason, e);
    }
}
