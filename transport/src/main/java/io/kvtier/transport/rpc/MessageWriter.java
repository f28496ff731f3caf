package io.kvtier.transport.rpc;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.UUID;
import org.msgpack.core.MessageBufferPacker;

/**
 * Writes a message as MessagePack: arrays of fields, which later versions append to.
 *
 * <p><b>Threading:</b> for one thread. May be {@linkplain #clear() cleared} and used again.
 */
public final class MessageWriter {
    private final MessageBufferPacker packer = MessagePackLibrary.newPacker();

    /** An empty message. */
    public MessageWriter() {
        // The packer takes its buffer when something is written.
    }

    private interface Write {
        void run() throws IOException;
    }

    /** The buffer is in memory; the exception is of the interface only. */
    private MessageWriter writing(final Write write) {
        try {
            write.run();
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
        return this;
    }

    /**
     * Begins an array.
     *
     * @param fields how many values follow.
     * @return this.
     */
    public MessageWriter array(final int fields) {
        return writing(() -> packer.packArrayHeader(fields));
    }

    /**
     * Writes a number.
     *
     * @param value in as few bytes as it needs.
     * @return this.
     */
    public MessageWriter number(final long value) {
        return writing(() -> packer.packLong(value));
    }

    /**
     * Writes a truth value.
     *
     * @param value true or false.
     * @return this.
     */
    public MessageWriter flag(final boolean value) {
        return writing(() -> packer.packBoolean(value));
    }

    /**
     * Writes a text.
     *
     * @param value in UTF-8.
     * @return this.
     */
    public MessageWriter text(final String value) {
        return writing(() -> packer.packString(value));
    }

    /**
     * Writes bytes.
     *
     * @param value the bytes; as they are when this returns.
     * @return this.
     */
    public MessageWriter bytes(final byte[] value) {
        return writing(() -> {
            packer.packBinaryHeader(value.length);
            packer.writePayload(value);
        });
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
        return writing(packer::packNil);
    }

    /**
     * What was written.
     *
     * @return a copy.
     */
    public byte[] toBytes() {
        return packer.toByteArray();
    }

    /** Forgets what was written. */
    public void clear() {
        packer.clear();
    }
}
