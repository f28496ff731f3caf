package io.kvtier.store.storage;

import io.kvtier.store.ObjectKey;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A record of the index log of {@link ExtentMedium}: a value became durable, or was removed. The body of its
 * {@link RecordFrame}:
 *
 * <pre>
 *   1 byte   1 stored, 2 removed
 *   8 bytes  version
 *   8 bytes  offset in the extent space   (0 when removed)
 *   8 bytes  size of the value            (0 when removed)
 *   8 bytes  XXH64 of the value           (0 when removed)
 *            tenant and key
 * </pre>
 *
 * <p>All numbers are little-endian.
 *
 * @param removed whether the value was removed.
 * @param value   the value.
 */
record IndexRecord(boolean removed, StoredValue value) {
    /** How they are written and read. */
    static final IndexFormat<IndexRecord, StoredValue> FORMAT = new Format();

    private static final byte STORED = 1;
    private static final byte REMOVED = 2;

    static IndexRecord stored(final StoredValue value) {
        return new IndexRecord(false, value);
    }

    static IndexRecord removed(final StoredValue value) {
        return new IndexRecord(true, new StoredValue(value.key(), value.version(), 0, 0, 0));
    }

    private static final class Format implements IndexFormat<IndexRecord, StoredValue> {
        private static final int FORMAT_VERSION = 1;
        /** "KVTIERIX". */
        private static final long MAGIC = 0x584952454954564BL;
        private static final int NUMBER_BYTES = 1 + 4 * Long.BYTES;
        private static final int MIN_BODY_BYTES = NUMBER_BYTES + 2 * Short.BYTES;
        private static final int MAX_BODY_BYTES = NUMBER_BYTES + RecordFrame.MAX_NAME_BYTES;

        @Override
        public long magic() {
            return MAGIC;
        }

        @Override
        public int version() {
            return FORMAT_VERSION;
        }

        @Override
        public int maxBytes() {
            return RecordFrame.BYTES + MAX_BODY_BYTES;
        }

        @Override
        public IndexRecord stored(final StoredValue value) {
            return IndexRecord.stored(value);
        }

        @Override
        public void encode(final IndexRecord next, final ByteBuffer buffer) {
            final StoredValue value = next.value;
            final int start = RecordFrame.begin(buffer);
            buffer.put(next.removed ? REMOVED : STORED);
            buffer.putLong(value.version()).putLong(value.offset()).putLong(value.size()).putLong(value.checksum());
            RecordFrame.putName(buffer, value.key());
            RecordFrame.end(buffer, start);
        }

        @Override
        public IndexRecord decode(final ByteBuffer buffer) {
            return RecordFrame.decode(buffer, MIN_BODY_BYTES, MAX_BODY_BYTES, Format::parse);
        }

        private static IndexRecord parse(final ByteBuffer body) {
            final byte type = body.get();
            if (type != STORED && type != REMOVED) {
                throw new IllegalArgumentException("its type is " + type);
            }
            final long version = body.getLong();
            final long offset = body.getLong();
            final long size = body.getLong();
            final long checksum = body.getLong();
            return new IndexRecord(type == REMOVED,
                new StoredValue(RecordFrame.name(body), version, offset, size, checksum));
        }

        @Override
        public Replay<IndexRecord, StoredValue> replay() {
            return new Newest();
        }
    }

    /** As the index did when the record was written: a value takes the place of any earlier one of its key. */
    private static final class Newest implements IndexFormat.Replay<IndexRecord, StoredValue> {
        private final Map<ObjectKey, StoredValue> live = new LinkedHashMap<>();

        @Override
        public void apply(final IndexRecord next) {
            final StoredValue value = next.value;
            final StoredValue before = live.get(value.key());
            if (!next.removed) {
                // Out and in again: the order of the log is the order of use.
                live.remove(value.key());
                live.put(value.key(), value);
            } else if (before != null && before.version() == value.version()) {
                live.remove(value.key());
            }
        }

        @Override
        public List<StoredValue> live() {
            return List.copyOf(live.values());
        }
    }
}
