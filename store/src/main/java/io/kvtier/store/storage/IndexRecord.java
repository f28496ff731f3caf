package io.kvtier.store.storage;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;

/**
 * A record of the index log: a value became durable, or was removed.
 *
 * <pre>
 *   0   4 bytes  length of the body          body  1 byte   1 stored, 2 removed
 *   4   4 bytes  CRC-32C of the body               8 bytes  version
 *   8            body                              8 bytes  offset in the extent space   (0 when removed)
 *                                                  8 bytes  size of the value            (0 when removed)
 *                                                  8 bytes  XXH64 of the value           (0 when removed)
 *                                                  2 bytes  length of the tenant, then its UTF-8
 *                                                  2 bytes  length of the key, then its UTF-8
 * </pre>
 *
 * <p>All numbers are little-endian.
 *
 * @param removed whether the value was removed.
 * @param value   the value.
 */
record IndexRecord(boolean removed, StoredValue value) {
    private static final int FRAME_BYTES = 8;
    private static final int FIXED_BYTES = 1 + 4 * Long.BYTES + 2 * Short.BYTES;
    private static final int MAX_BODY_BYTES = FIXED_BYTES + ObjectKey.MAX_TENANT_BYTES + ObjectKey.MAX_KEY_BYTES;
    private static final byte STORED = 1;
    private static final byte REMOVED = 2;

    /** Most bytes that one record takes. */
    static final int MAX_BYTES = FRAME_BYTES + MAX_BODY_BYTES;

    static IndexRecord stored(final StoredValue value) {
        return new IndexRecord(false, value);
    }

    static IndexRecord removed(final StoredValue value) {
        return new IndexRecord(true, new StoredValue(value.key(), value.version(), 0, 0, 0));
    }

    /** Appends the record; the buffer is little-endian and has {@link #MAX_BYTES} left. */
    void encode(final ByteBuffer buffer) {
        final int start = buffer.position();
        buffer.position(start + FRAME_BYTES);
        buffer.put(removed ? REMOVED : STORED);
        buffer.putLong(value.version()).putLong(value.offset()).putLong(value.size()).putLong(value.checksum());
        putText(buffer, value.key().tenant());
        putText(buffer, value.key().key());
        final int length = buffer.position() - start - FRAME_BYTES;
        buffer.putInt(start, length);
        buffer.putInt(start + Integer.BYTES, crc(buffer, start + FRAME_BYTES, length));
    }

    /**
     * The next record, or null where the log ends: nothing follows, or what follows was not written whole.
     *
     * @throws IllegalArgumentException when it was written whole, and is no record; the buffer's position stays.
     */
    static IndexRecord decode(final ByteBuffer buffer) {
        if (buffer.remaining() < FRAME_BYTES + FIXED_BYTES) {
            return null;
        }
        final int start = buffer.position();
        final int length = buffer.getInt(start);
        if (length < FIXED_BYTES || length > MAX_BODY_BYTES || length > buffer.remaining() - FRAME_BYTES
            || buffer.getInt(start + Integer.BYTES) != crc(buffer, start + FRAME_BYTES, length)) {
            return null;
        }
        final IndexRecord next;
        try {
            next = body(buffer.slice(start + FRAME_BYTES, length).order(ByteOrder.LITTLE_ENDIAN));
        } catch (final BufferUnderflowException e) {
            throw new IllegalArgumentException("its names are longer than it is", e);
        } catch (final StoreException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
        buffer.position(start + FRAME_BYTES + length);
        return next;
    }

    private static IndexRecord body(final ByteBuffer body) {
        final byte type = body.get();
        if (type != STORED && type != REMOVED) {
            throw new IllegalArgumentException("its type is " + type);
        }
        final long version = body.getLong();
        final long offset = body.getLong();
        final long size = body.getLong();
        final long checksum = body.getLong();
        final String tenant = text(body);
        final ObjectKey key = new ObjectKey(tenant, text(body));
        if (body.hasRemaining()) {
            throw new IllegalArgumentException("it goes on behind its key");
        }
        return new IndexRecord(type == REMOVED, new StoredValue(key, version, offset, size, checksum));
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
        final CRC32C crc = new CRC32C();
        crc.update(buffer.slice(offset, length));
        return (int) crc.getValue();
    }
}
