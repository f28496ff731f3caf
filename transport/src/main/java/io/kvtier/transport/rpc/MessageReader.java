package io.kvtier.transport.rpc;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.UUID;

/**
 * Reads a message that {@link MessageWriter}, or a MessagePack library, has written. Every length is compared with a
 * limit and with the bytes there are before anything is taken for it.
 *
 * <p>Fields are read from arrays between {@link #begin()} and {@link #end}: fields that the writer did not know are
 * found absent by {@link #has()}, and those that the reader does not know are passed over, whatever they are.
 *
 * <p><b>Threading:</b> for one thread. <b>Errors:</b> all methods throw {@link MalformedMessageException} when the
 * message is not what is read.
 */
public final class MessageReader {
    private static final int MAX_DEPTH = 32;
    private static final char REPLACEMENT = '\ufffd';
    private static final VarHandle SHORT =
        MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    private final byte[] message;
    private final int[] left = new int[MAX_DEPTH];
    private int position;
    private int depth;

    /**
     * Over a message.
     *
     * @param message MessagePack; not to be changed while it is read.
     */
    public MessageReader(final byte[] message) {
        this.message = message;
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
        final int format = first("an array");
        final long count;
        if ((format & 0xf0) == MessagePackFormat.FIX_ARRAY) {
            count = format & MessagePackFormat.FIX_ARRAY_MAX;
        } else if ((byte) format == MessagePackFormat.ARRAY_16) {
            count = unsigned16();
        } else if ((byte) format == MessagePackFormat.ARRAY_32) {
            count = unsigned32();
        } else {
            throw unexpected("an array", format);
        }
        // Each value takes a byte at least.
        if (count > max || count > message.length - position) {
            throw new MalformedMessageException("an array says that it has " + count + " values; at most " + max
                + " are accepted, and " + (message.length - position) + " bytes are left");
        }
        left[depth++] = (int) count;
        return (int) count;
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
        if (depth != 0 || position != message.length) {
            throw new MalformedMessageException("the message has " + (message.length - position)
                + " bytes behind its end");
        }
    }

    /**
     * Reads a number.
     *
     * @return 64 bits.
     */
    public long number() {
        final int format = first("a number");
        final byte small = (byte) format;
        if (small >= MessagePackFormat.FIX_NEGATIVE_MIN) {
            return small;
        }
        return switch (small) {
            case MessagePackFormat.UNSIGNED_8 -> unsigned8();
            case MessagePackFormat.UNSIGNED_16 -> unsigned16();
            case MessagePackFormat.UNSIGNED_32 -> unsigned32();
            case MessagePackFormat.UNSIGNED_64 -> unsigned64();
            case MessagePackFormat.SIGNED_8 -> (byte) unsigned8();
            case MessagePackFormat.SIGNED_16 -> (short) unsigned16();
            case MessagePackFormat.SIGNED_32 -> (int) unsigned32();
            case MessagePackFormat.SIGNED_64 -> signed64();
            default -> throw unexpected("a number", format);
        };
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
        final int format = first("true or false");
        if ((byte) format == MessagePackFormat.TRUE) {
            return true;
        }
        if ((byte) format != MessagePackFormat.FALSE) {
            throw unexpected("true or false", format);
        }
        return false;
    }

    /**
     * Reads a text.
     *
     * @param maxBytes most bytes of UTF-8 that are accepted.
     * @return the text.
     */
    public String text(final int maxBytes) {
        final int format = first("a text");
        final long bytes;
        if ((format & 0xe0) == MessagePackFormat.FIX_TEXT) {
            bytes = format & MessagePackFormat.FIX_TEXT_MAX;
        } else {
            bytes = switch ((byte) format) {
                case MessagePackFormat.TEXT_8 -> unsigned8();
                case MessagePackFormat.TEXT_16 -> unsigned16();
                case MessagePackFormat.TEXT_32 -> unsigned32();
                default -> throw unexpected("a text", format);
            };
        }
        if (bytes == 0) {
            return "";
        }
        final int from = payload(bytes, maxBytes);
        final String text = new String(message, from, (int) bytes, StandardCharsets.UTF_8);
        // The constructor puts U+FFFD for what is no UTF-8; a text may also have that character of its own.
        return text.indexOf(REPLACEMENT) < 0 ? text : strict(Arrays.copyOfRange(message, from, position));
    }

    /**
     * Reads bytes.
     *
     * @param maxBytes most that are accepted.
     * @return the bytes.
     */
    public byte[] bytes(final int maxBytes) {
        final int format = first("bytes");
        final long bytes = switch ((byte) format) {
            case MessagePackFormat.BYTES_8 -> unsigned8();
            case MessagePackFormat.BYTES_16 -> unsigned16();
            case MessagePackFormat.BYTES_32 -> unsigned32();
            default -> throw unexpected("bytes", format);
        };
        final int from = payload(bytes, maxBytes);
        return Arrays.copyOfRange(message, from, position);
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
        if (position == message.length) {
            throw new MalformedMessageException("the message ends early, at byte " + position);
        }
        if (message[position] != MessagePackFormat.NIL) {
            return false;
        }
        position++;
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
        final int from = position;
        skip(1);
        if (position - from > maxBytes) {
            throw new MalformedMessageException("a value has " + (position - from) + " bytes; at most " + maxBytes
                + " are accepted");
        }
        return Arrays.copyOfRange(message, from, position);
    }

    /**
     * Passes over the next values when they are just these: to know again what was read before without reading it.
     *
     * @param encoded MessagePack.
     * @param values  how many values that is.
     * @return whether they were there; otherwise nothing is read.
     */
    public boolean passIf(final byte[] encoded, final int values) {
        if (depth == 0 || left[depth - 1] < values || message.length - position < encoded.length
            || !Arrays.equals(message, position, position + encoded.length, encoded, 0, encoded.length)) {
            return false;
        }
        position += encoded.length;
        left[depth - 1] -= values;
        return true;
    }

    /** Takes one value off the array that is being read. */
    private void count(final String what) {
        if (depth > 0 && left[depth - 1]-- == 0) {
            throw new MalformedMessageException("a field is missing: " + what);
        }
    }

    /** The first byte of a value, 0 to 255. */
    private int first(final String what) {
        count(what);
        if (position == message.length) {
            throw early(what);
        }
        return message[position++] & MessagePackFormat.MAX_8;
    }

    private int unsigned8() {
        return message[advance(Byte.BYTES)] & MessagePackFormat.MAX_8;
    }

    private int unsigned16() {
        return (short) SHORT.get(message, advance(Short.BYTES)) & MessagePackFormat.MAX_16;
    }

    private long unsigned32() {
        return (int) INT.get(message, advance(Integer.BYTES)) & MessagePackFormat.MAX_32;
    }

    private long signed64() {
        return (long) LONG.get(message, advance(Long.BYTES));
    }

    private long unsigned64() {
        final long value = signed64();
        if (value < 0) {
            throw new MalformedMessageException("the number " + Long.toUnsignedString(value)
                + " does not fit 64 bits with a sign");
        }
        return value;
    }

    private int advance(final long bytes) {
        if (bytes > message.length - position) {
            throw early(bytes + " bytes");
        }
        final int from = position;
        position += (int) bytes;
        return from;
    }

    private int payload(final long bytes, final int maxBytes) {
        if (bytes > maxBytes || bytes > message.length - position) {
            throw new MalformedMessageException("a text or binary says that it has " + bytes + " bytes; at most "
                + maxBytes + " are accepted, and " + (message.length - position) + " are left");
        }
        return advance(bytes);
    }

    /** Passes over values; those inside them are added to the count, so that nesting takes no stack. */
    private void skip(final int values) {
        long rest = values;
        while (rest > 0) {
            if (position == message.length) {
                throw early("a value");
            }
            rest += skipOne() - 1;
        }
    }

    /** Passes over one value without those inside it; returns how many there are. */
    private long skipOne() {
        final int format = message[position++] & MessagePackFormat.MAX_8;
        if ((byte) format >= MessagePackFormat.FIX_NEGATIVE_MIN) {
            return 0;
        }
        if (format < MessagePackFormat.FIX_ARRAY) {
            return 2L * (format & MessagePackFormat.FIX_MAP_MAX);
        }
        if (format < MessagePackFormat.FIX_TEXT) {
            return format & MessagePackFormat.FIX_ARRAY_MAX;
        }
        if (format <= MessagePackFormat.FIX_TEXT + MessagePackFormat.FIX_TEXT_MAX) {
            advance(format & MessagePackFormat.FIX_TEXT_MAX);
            return 0;
        }
        return switch ((byte) format) {
            case MessagePackFormat.ARRAY_16 -> unsigned16();
            case MessagePackFormat.ARRAY_32 -> unsigned32();
            case MessagePackFormat.MAP_16 -> 2L * unsigned16();
            case MessagePackFormat.MAP_32 -> 2L * unsigned32();
            default -> {
                advance(scalarBytes(format));
                yield 0;
            }
        };
    }

    /** How many bytes follow the first one of a value that has no values inside it. */
    private long scalarBytes(final int format) {
        return switch ((byte) format) {
            case MessagePackFormat.NIL, MessagePackFormat.FALSE, MessagePackFormat.TRUE -> 0;
            case MessagePackFormat.UNSIGNED_8, MessagePackFormat.SIGNED_8 -> Byte.BYTES;
            case MessagePackFormat.UNSIGNED_16, MessagePackFormat.SIGNED_16 -> Short.BYTES;
            case MessagePackFormat.UNSIGNED_32, MessagePackFormat.SIGNED_32, MessagePackFormat.FLOAT_32 ->
                Integer.BYTES;
            case MessagePackFormat.UNSIGNED_64, MessagePackFormat.SIGNED_64, MessagePackFormat.FLOAT_64 -> Long.BYTES;
            case MessagePackFormat.BYTES_8, MessagePackFormat.TEXT_8 -> unsigned8();
            case MessagePackFormat.BYTES_16, MessagePackFormat.TEXT_16 -> unsigned16();
            case MessagePackFormat.BYTES_32, MessagePackFormat.TEXT_32 -> unsigned32();
            default -> 1 + extensionBytes(format);
        };
    }

    /** Bytes of an extension without those that say its type. */
    private long extensionBytes(final int format) {
        return switch ((byte) format) {
            case MessagePackFormat.FIX_EXTENSION_1 -> 1;
            case MessagePackFormat.FIX_EXTENSION_2 -> 2;
            case MessagePackFormat.FIX_EXTENSION_4 -> 4;
            case MessagePackFormat.FIX_EXTENSION_8 -> 8;
            case MessagePackFormat.FIX_EXTENSION_16 -> 16;
            case MessagePackFormat.EXTENSION_8 -> unsigned8();
            case MessagePackFormat.EXTENSION_16 -> unsigned16();
            case MessagePackFormat.EXTENSION_32 -> unsigned32();
            default -> throw unexpected("a value", format);
        };
    }

    private static String strict(final byte[] utf8) {
        try {
            return Utf8.decode(utf8);
        } catch (final CharacterCodingException e) {
            throw new MalformedMessageException("a text is not UTF-8: " + e.getMessage(), e);
        }
    }

    private MalformedMessageException early(final String what) {
        return new MalformedMessageException("the message ends early: " + what + " is expected at byte " + position
            + " of " + message.length);
    }

    private MalformedMessageException unexpected(final String what, final int format) {
        return new MalformedMessageException(what + " is expected at byte " + (position - 1) + " of " + message.length
            + "; there is 0x" + Integer.toHexString(format));
    }
}
