package io.kvtier.store.storage;

import io.kvtier.store.ObjectKey;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A record of the index of a {@link GdsStorageManager}: a value is in an extent, or is not any more. The body of its
 * {@link RecordFrame}:
 *
 * <pre>
 *   1 byte   1 stored, 2 removed
 *   1 byte   flags: 1 the checksum is known
 *   8 bytes  version
 *   8 bytes  offset in the extent space
 *   8 bytes  size of the value                       (0 when removed)
 *   8 bytes  XXH64 of the value, 0 when not known    (0 when removed)
 *   8 bytes  replica id
 *            tenant and key
 * </pre>
 *
 * <p>All numbers are little-endian. An extent begins with at most one value at a time, so the offset says what is
 * removed: it goes to another value only once the removal is durable.
 *
 * @param removed whether the value was removed.
 * @param value   the value.
 */
record ExtentRecord(boolean removed, StoredExtent value) {
    /** How they are written and read. */
    static final IndexFormat<ExtentRecord, StoredExtent> FORMAT = new Format();

    private static final byte STORED = 1;
    private static final byte REMOVED = 2;
    private static final byte CHECKSUMMED = 1;

    static ExtentRecord stored(final StoredExtent value) {
        return new ExtentRecord(false, value);
    }

    static ExtentRecord removed(final StoredExtent value) {
        return new ExtentRecord(true, new StoredExtent(value.key(), value.version(),
            Extent.of(value.extent().offset(), 0), 0, false, 0, value.replicaId()));
    }

    private static final class Format implements IndexFormat<ExtentRecord, StoredExtent> {
        private static final int FORMAT_VERSION = 1;
        /** "KVTIERGX". */
        private static final long MAGIC = 0x584752454954564BL;
        private static final int NUMBER_BYTES = 2 + 5 * Long.BYTES;
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
        public ExtentRecord stored(final StoredExtent value) {
            return ExtentRecord.stored(value);
        }

        @Override
        public void encode(final ExtentRecord next, final ByteBuffer buffer) {
            final StoredExtent value = next.value;
            final int start = RecordFrame.begin(buffer);
            buffer.put(next.removed ? REMOVED : STORED).put(value.checksummed() ? CHECKSUMMED : 0);
            buffer.putLong(value.version()).putLong(value.extent().offset()).putLong(value.size());
            buffer.putLong(value.checksum()).putLong(value.replicaId());
            RecordFrame.putName(buffer, value.key());
            RecordFrame.end(buffer, start);
        }

        @Override
        public ExtentRecord decode(final ByteBuffer buffer) {
            return RecordFrame.decode(buffer, MIN_BODY_BYTES, MAX_BODY_BYTES, Format::parse);
        }

        private static ExtentRecord parse(final ByteBuffer body) {
            final byte type = body.get();
            final byte flags = body.get();
            if (type != STORED && type != REMOVED || (flags & ~CHECKSUMMED) != 0) {
                throw new IllegalArgumentException("its type is " + type + ", and its flags are " + flags);
            }
            final long version = body.getLong();
            final long offset = body.getLong();
            final long size = body.getLong();
            final long checksum = body.getLong();
            final long replicaId = body.getLong();
            if (size < (type == STORED ? 1 : 0)) {
                throw new IllegalArgumentException("its size is " + size);
            }
            final ObjectKey key = RecordFrame.name(body);
            return new ExtentRecord(type == REMOVED, new StoredExtent(key, version, Extent.of(offset, size), size,
                flags != 0, checksum, replicaId));
        }

        @Override
        public Replay<ExtentRecord, StoredExtent> replay() {
            return new ByOffset();
        }
    }

    /** What lies where; what was stored again is the youngest, as a value that got another replica. */
    private static final class ByOffset implements IndexFormat.Replay<ExtentRecord, StoredExtent> {
        private final Map<Long, StoredExtent> live = new LinkedHashMap<>();

        @Override
        public void apply(final ExtentRecord next) {
            final long offset = next.value.extent().offset();
            live.remove(offset);
            if (!next.removed) {
                live.put(offset, next.value);
            }
        }

        @Override
        public List<StoredExtent> live() {
            return List.copyOf(live.values());
        }
    }
}
