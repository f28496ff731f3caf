package io.kvtier.store.storage;

import io.kvtier.store.ObjectKey;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;

/**
 * A record of the notes of {@link FileMedium}: what became of a value since its file was written. The body of its
 * {@link RecordFrame}:
 *
 * <pre>
 *   1 byte   1 removed, 2 used
 *   8 bytes  address of the value
 * </pre>
 *
 * <p>All numbers are little-endian.
 *
 * @param used    whether it is used, as the youngest so far; else it was removed.
 * @param address of the value.
 */
record FileNote(boolean used, long address) {
    static FileNote removed(final long address) {
        return new FileNote(false, address);
    }

    static FileNote used(final long address) {
        return new FileNote(true, address);
    }

    /** How notes of certain files are written and read; what is replayed says something of all their values. */
    static final class Format implements IndexFormat<FileNote, FileNote> {
        private static final int FORMAT_VERSION = 1;
        /** "KVTIERNX". */
        private static final long MAGIC = 0x584E52454954564BL;
        private static final byte REMOVED = 1;
        private static final byte USED = 2;
        private static final int BODY_BYTES = 1 + Long.BYTES;

        private final NavigableMap<Long, StoredValue> known;
        private Everything replayed;

        /**
         * Of the values that the files name.
         *
         * @param known by address.
         */
        Format(final NavigableMap<Long, StoredValue> known) {
            this.known = known;
        }

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
            return RecordFrame.BYTES + BODY_BYTES;
        }

        @Override
        public FileNote stored(final FileNote note) {
            return note;
        }

        @Override
        public void encode(final FileNote next, final ByteBuffer buffer) {
            final int start = RecordFrame.begin(buffer);
            buffer.put(next.used ? USED : REMOVED).putLong(next.address);
            RecordFrame.end(buffer, start);
        }

        @Override
        public FileNote decode(final ByteBuffer buffer) {
            return RecordFrame.decode(buffer, BODY_BYTES, BODY_BYTES, body -> {
                final byte kind = body.get();
                if (kind != REMOVED && kind != USED) {
                    throw new IllegalArgumentException("its kind is " + kind);
                }
                return new FileNote(kind == USED, body.getLong());
            });
        }

        @Override
        public Replay<FileNote, FileNote> replay() {
            replayed = new Everything(known);
            return replayed;
        }

        /** The highest address that a note which was replayed names; 0 when none was. */
        long highest() {
            return replayed == null ? 0 : replayed.highest;
        }
    }

    /** Says of each value in the files whether it was removed, and of the others in which order they were used. */
    private static final class Everything implements IndexFormat.Replay<FileNote, FileNote> {
        private final NavigableMap<Long, StoredValue> known;
        private final Set<Long> removed = new HashSet<>();
        private final Set<Long> used = new LinkedHashSet<>();
        /** Files behind this have come since the order of use was noted. */
        private long noted;
        private long highest;

        Everything(final NavigableMap<Long, StoredValue> known) {
            this.known = known;
        }

        @Override
        public void apply(final FileNote next) {
            highest = Math.max(highest, next.address);
            if (next.used) {
                used.remove(next.address);
                used.add(next.address);
                noted = Math.max(noted, next.address);
            } else {
                removed.add(next.address);
            }
        }

        @Override
        public List<FileNote> live() {
            final Map<ObjectKey, Long> youngest = new HashMap<>();
            known.forEach((address, value) -> {
                if (!removed.contains(address)) {
                    youngest.put(value.key(), address);
                }
            });
            final Set<Long> there = new HashSet<>(youngest.values());
            final Set<Long> order = new LinkedHashSet<>(known.headMap(noted, true).keySet());
            for (final long address : used) {
                if (order.remove(address)) {
                    order.add(address);
                }
            }
            order.addAll(known.tailMap(noted, false).keySet());
            final List<FileNote> notes = new ArrayList<>();
            known.keySet().stream().filter(address -> !there.contains(address)).map(FileNote::removed)
                .forEach(notes::add);
            order.stream().filter(there::contains).map(FileNote::used).forEach(notes::add);
            return notes;
        }
    }
}
