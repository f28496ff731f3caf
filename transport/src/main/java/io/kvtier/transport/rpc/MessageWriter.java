package io.kvtier.transport.rpc;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.UUID;

/**
 * Writes a message as MessagePack: arrays of fields, which later versions append to. Numbers, lengths and texts take as
 * few bytes as the format allows.
 *
 * <p>Written by hand, over one array that is kept from message to message: a batch of calls is mostly the cost of this
 * class and of {@link MessageReader}. A test compares every kind of value with MessagePack for Java.
 *
 * <p><b>Threading:</b> for one thread. May be {@linkplain #clear() cleared} and used again.
 */
public final class MessageWriter {
    private static final int FIRST_BYTES = 512;
    /** A header and a number of 64 bits: what any value but text and bytes takes at most. */
    private static final int SCALAR_BYTES = 9;
    private static final VarHandle SHORT =
        MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    private byte[] buffer = new byte[FIRST_BYTES];
    private int length;

    /** An empty message. */
    public MessageWriter() {
        // The buffer grows as values are written.
    }

    /**
     * Begins an array.
     *
     * @param fields how many values follow.
     * @return this.
     */
    public MessageWriter array(final int fields) {
        final int at = take(SCALAR_BYTES);
        if (fields < 0) {
            throw new IllegalArgumentException("an array of " + fields + " values");
        } else if (fields <= MessagePackFormat.FIX_ARRAY_MAX) {
            buffer[at] = (byte) (MessagePackFormat.FIX_ARRAY | fields);
            length = at + 1;
        } else if (fields <= MessagePackFormat.MAX_16) {
            put16(at, MessagePackFormat.ARRAY_16, fields);
        } else {
            put32(at, MessagePackFormat.ARRAY_32, fields);
        }
        return this;
    }

    /**
     * Writes a number.
     *
     * @param value in as few bytes as it needs.
     * @return this.
     */
    public MessageWriter number(final long value) {
        final int at = take(SCALAR_BYTES);
        if (value >= MessagePackFormat.FIX_NEGATIVE_MIN && value <= Byte.MAX_VALUE) {
            buffer[at] = (byte) value;
            length = at + 1;
        } else if (value >= 0) {
            positive(at, value);
        } else {
            negative(at, value);
        }
        return this;
    }

    /**
     * Writes a truth value.
     *
     * @param value true or false.
     * @return this.
     */
    public MessageWriter flag(final boolean value) {
        final int at = take(1);
        buffer[at] = value ? MessagePackFormat.TRUE : MessagePackFormat.FALSE;
        length = at + 1;
        return this;
    }

    /**
     * Writes a text.
     *
     * @param value in UTF-8; half a surrogate pair, which UTF-8 cannot carry, becomes a question mark.
     * @return this.
     */
    public MessageWriter text(final String value) {
        final byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
        final int bytes = utf8.length;
        final int at = take(SCALAR_BYTES);
        if (bytes <= MessagePackFormat.FIX_TEXT_MAX) {
            buffer[at] = (byte) (MessagePackFormat.FIX_TEXT | bytes);
            length = at + 1;
        } else if (bytes <= MessagePackFormat.MAX_8) {
            put8(at, MessagePackFormat.TEXT_8, bytes);
        } else if (bytes <= MessagePackFormat.MAX_16) {
            put16(at, MessagePackFormat.TEXT_16, bytes);
        } else {
            put32(at, MessagePackFormat.TEXT_32, bytes);
        }
        return raw(utf8);
    }

    /**
     * Writes bytes.
     *
     * @param value the bytes; as they are when this returns.
     * @return this.
     */
    public MessageWriter bytes(final byte[] value) {
        final int at = take(SCALAR_BYTES);
        if (value.length <= MessagePackFormat.MAX_8) {
            put8(at, MessagePackFormat.BYTES_8, value.length);
        } else if (value.length <= MessagePackFormat.MAX_16) {
            put16(at, MessagePackFormat.BYTES_16, value.length);
        } else {
            put32(at, MessagePackFormat.BYTES_32, value.length);
        }
        return raw(value);
    }

    /**
     * Writes an identity.
     *
     * @param value as two numbers of 64 bits in an array.
     * @return this.
     */
    public MessageWriter uuid(final UUID value) {
        return array(2).number(value.getMostSignificantBits()).number(value.getLeastSignificantBits());
    }

    /**
     * Writes that there is no value.
     *
     * @return this.
     */
    public MessageWriter nothing() {
        final int at = take(1);
        buffer[at] = MessagePackFormat.NIL;
        length = at + 1;
        return this;
    }

    /**
     * Writes values that were written before, by another writer or by {@link MessageReader#raw}.
     *
     * @param encoded MessagePack, as it is when this returns.
     * @return this.
     */
    public MessageWriter raw(final byte[] encoded) {
        final int at = take(encoded.length);
        System.arraycopy(encoded, 0, buffer, at, encoded.length);
        length = at + encoded.length;
        return this;
    }

    /**
     * How much was written.
     *
     * @return bytes.
     */
    public int length() {
        return length;
    }

    /**
     * How much it could hold without growing.
     *
     * @return bytes, for those who keep writers and want to let go of large ones.
     */
    public int capacity() {
        return buffer.length;
    }

    /**
     * What was written.
     *
     * @return a copy.
     */
    public byte[] toBytes() {
        return Arrays.copyOf(buffer, length);
    }

    /** Forgets what was written. */
    public void clear() {
        length = 0;
    }

    /**
     * Forgets the end of what was written.
     *
     * @param to how much is kept: what {@link #length()} was at some time.
     */
    public void cutTo(final int to) {
        if (to < 0 || to > length) {
            throw new IllegalArgumentException("cannot cut " + length + " bytes to " + to);
        }
        length = to;
    }

    /** The array written to; for reading, until the next value is written. */
    byte[] buffer() {
        return buffer;
    }

    private void positive(final int at, final long value) {
        if (value <= MessagePackFormat.MAX_8) {
            put8(at, MessagePackFormat.UNSIGNED_8, (int) value);
        } else if (value <= MessagePackFormat.MAX_16) {
            put16(at, MessagePackFormat.UNSIGNED_16, (int) value);
        } else if (value <= MessagePackFormat.MAX_32) {
            put32(at, MessagePackFormat.UNSIGNED_32, (int) value);
        } else {
            put64(at, MessagePackFormat.UNSIGNED_64, value);
        }
    }

    private void negative(final int at, final long value) {
        if (value >= Byte.MIN_VALUE) {
            put8(at, MessagePackFormat.SIGNED_8, (int) value);
        } else if (value >= Short.MIN_VALUE) {
            put16(at, MessagePackFormat.SIGNED_16, (int) value);
        } else if (value >= Integer.MIN_VALUE) {
            put32(at, MessagePackFormat.SIGNED_32, (int) value);
        } else {
            put64(at, MessagePackFormat.SIGNED_64, value);
        }
    }

    private void put8(final int at, final byte format, final int value) {
        buffer[at] = format;
        buffer[at + 1] = (byte) value;
        length = at + 1 + Byte.BYTES;
    }

    private void put16(final int at, final byte format, final int value) {
        buffer[at] = format;
        SHORT.set(buffer, at + 1, (short) value);
        length = at + 1 + Short.BYTES;
    }

    private void put32(final int at, final byte format, final int value) {
        buffer[at] = format;
        INT.set(buffer, at + 1, value);
        length = at + 1 + Integer.BYTES;
    }

    private void put64(final int at, final byte format, final long value) {
        buffer[at] = format;
        LONG.set(buffer, at + 1, value);
        length = at + 1 + Long.BYTES;
    }

    /** Makes room; the caller writes there and then moves the length. */
    private int take(final int bytes) {
        if (buffer.length - length < bytes) {
            grow(bytes);
        }
        return length;
    }

    private void grow(final int bytes) {
        final long needed = (long) length + bytes;
        if (needed > Integer.MAX_VALUE - SCALAR_BYTES) {
            throw new IllegalStateException("a message of more than 2 GiB; send it in parts");
        }
        buffer = Arrays.copyOf(buffer, (int) Math.min(Math.max(needed, 2L * buffer.length),
            Integer.MAX_VALUE - SCALAR_BYTES));
    }
}
