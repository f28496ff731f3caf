package io.kvtier.store.storage;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;

/**
 * What all records of index logs have in common.
 *
 * <pre>
 *   0   4 bytes  length of the body
 *   4   4 bytes  CRC-32C of the body
 *   8            body; at its end, in every record so far: 2 bytes length of the tenant, then its UTF-8,
 *                2 bytes length of the key, then its UTF-8
 * </pre>
 *
 * <p>All numbers are little-endian. <b>Threading:</b> stateless.
 */
final class RecordFrame {
    static final int BYTES = 8;
    /** Most bytes that a name takes. */
    static final int MAX_NAME_BYTES = 2 * Short.BYTES + ObjectKey.MAX_TENANT_BYTES + ObjectKey.MAX_KEY_BYTES;

    private RecordFrame() {
    }

    /** Begins a record; the body follows. Returns where it begins. */
    static int begin(final ByteBuffer buffer) {
        final int start = buffer.position();
        buffer.position(start + BYTES);
        return start;
    }

    /** The body of a record that began there ends here. */
    static void end(final ByteBuffer buffer, final int start) {
        final int length = buffer.position() - start - BYTES;
        buffer.putInt(start, length);
        buffer.putInt(start + Integer.BYTES, crc(buffer, start + BYTES, length));
    }

    /**
     * The next record; see {@link IndexFormat#decode}.
     *
     * @param buffer where it begins.
     * @param least  bytes of the shortest body.
     * @param most   bytes of the longest body.
     * @param parser reads a body, all of it.
     * @param <R>    the record.
     */
    static <R> R decode(final ByteBuffer buffer, final int least, final int most,
        final Function<ByteBuffer, R> parser) {
        if (buffer.remaining() < BYTES + least) {
            return null;
        }
        final int start = buffer.position();
        final int length = buffer.getInt(start);
        if (length < least || length > most || length > buffer.remaining() - BYTES
            || buffer.getInt(start + Integer.BYTES) != crc(buffer, start + BYTES, length)) {
            return null;
        }
        final R next;
        try {
            final ByteBuffer body = buffer.slice(start + BYTES, length).order(ByteOrder.LITTLE_ENDIAN);
            next = parser.apply(body);
            if (body.hasRemaining()) {
                throw new IllegalArgumentException("it goes on behind its key");
            }
        } catch (final BufferUnderflowException e) {
            throw new IllegalArgumentException("its names are longer than it is", e);
        } catch (final StoreException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
        buffer.position(start + BYTES + length);
        return next;
    }

    static void putName(final ByteBuffer buffer, final ObjectKey key) {
        putText(buffer, key.tenant());
        putText(buffer, key.key());
    }

    static ObjectKey name(final ByteBuffer buffer) {
        final String tenant = text(buffer);
        return new ObjectKey(tenant, text(buffer));
    }

    private static void putText(final ByteBuffer buffer, final String text) {
        final byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        buffer.putShort((short) bytes.length);
        buffer.put(bytes);
    }

    private static String text(final ByteBuffer buffer) {
        final byte[] bytes = new byte[Short.toUnsignedInt(buffer.getShort())];
        buffer.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static int crc(final ByteBuffer buffer, final int offset, final int length) {
        return Crc32c.of(buffer.slice(offset, length));
    }
}
