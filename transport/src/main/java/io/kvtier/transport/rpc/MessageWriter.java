package io.kvtier.transport.rpc;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.UUID;
import org.msgpack.core.MessagePacker;

/**
 * Writes a message as MessagePack: arrays of fields, which later versions append to. Numbers, lengths and texts take as
 * few bytes as the format allows.
 *
 * <p>MessagePack for Java does the writing, with one packer and one array that are kept from message to message.
 *
 * <p><b>Threading:</b> for one thread. May be {@linkplain #clear() cleared} and used again.
 */
public final class MessageWriter {
    private final MessageOutput output;
    private final MessagePacker packer;
    /** What the packer does not count any more. */
    private int before;

    /** An empty message. */
    public MessageWriter() {
        this(MessageOutput.MAX_BYTES);
    }

    /**
     * An empty message that does not grow beyond what its reader takes: what would make it ends with INTERNAL,
     * and the message is none after that.
     *
     * @param maxBytes most bytes.
     */
    public MessageWriter(final int maxBytes) {
        // The array grows as values are written.
        output = new MessageOutput(maxBytes);
        packer = MessagePackLibrary.newPacker(output);
    }

    /**
     * Begins an array.
     *
     * @param fields how many values follow.
     * @return this.
     */
    public MessageWriter array(final int fields) {
        try {
            packer.packArrayHeader(fields);
        } catch (final IOException e) {
            throw unexpected(e);
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
        try {
            packer.packLong(value);
        } catch (final IOException e) {
            throw unexpected(e);
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
        try {
            packer.packBoolean(value);
        } catch (final IOException e) {
            throw unexpected(e);
        }
        return this;
    }

    /**
     * Writes a text.
     *
     * @param value in UTF-8; half a surrogate pair, which UTF-8 cannot carry, becomes a question mark.
     * @return this.
     */
    public MessageWriter text(final String value) {
        try {
            packer.packString(value);
        } catch (final IOException e) {
            throw unexpected(e);
        }
        return this;
    }

    /**
     * Writes bytes.
     *
     * @param value the bytes; as they are when this returns.
     * @return this.
     */
    public MessageWriter bytes(final byte[] value) {
        try {
            packer.packBinaryHeader(value.length).writePayload(value);
        } catch (final IOException e) {
            throw unexpected(e);
        }
        return this;
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
        try {
            packer.packNil();
        } catch (final IOException e) {
            throw unexpected(e);
        }
        return this;
    }

    /**
     * Writes values that were written before, by another writer or by {@link MessageReader#raw}.
     *
     * @param encoded MessagePack, as it is when this returns.
     * @return this.
     */
    public MessageWriter raw(final byte[] encoded) {
        try {
            packer.writePayload(encoded);
        } catch (final IOException e) {
            throw unexpected(e);
        }
        return this;
    }

    /**
     * How much was written.
     *
     * @return bytes.
     */
    public int length() {
        return before + (int) packer.getTotalWrittenBytes();
    }

    /**
     * How much it could hold without growing.
     *
     * @return bytes, for those who keep writers and want to let go of large ones.
     */
    public int capacity() {
        return output.array().length;
    }

    /**
     * What was written.
     *
     * @return a copy.
     */
    public byte[] toBytes() {
        return Arrays.copyOf(output.array(), length());
    }

    /** Forgets what was written. */
    public void clear() {
        keep(0);
    }

    /**
     * Forgets the end of what was written.
     *
     * @param to how much is kept: what {@link #length()} was at some time.
     */
    public void cutTo(final int to) {
        if (to < 0 || to > length()) {
            throw new IllegalArgumentException("cannot cut " + length() + " bytes to " + to);
        }
        keep(to);
    }

    /** The array written to; for reading, until the next value is written. */
    byte[] buffer() {
        return output.array();
    }

    private void keep(final int length) {
        try {
            // Ends the packer's buffer and its count; the next value asks the output for a buffer.
            packer.reset(output);
        } catch (final IOException e) {
            throw unexpected(e);
        }
        output.cutTo(length);
        before = length;
    }

    /** The output is in memory; the exception is of the library's interface only. */
    private static UncheckedIOException unexpected(final IOException e) {
        return new UncheckedIOException(e);
    }
}
