package io.kvtier.store.storage;

import io.kvtier.store.DiskEviction;
import io.kvtier.store.ObjectKey;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.TreeSet;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Which value lies where, in order of use, and which are held by readers.
 *
 * <p>A value that is removed leaves at once; its extent goes when the last reader has let go, and even then rests until
 * {@link #freeResting()}, which the owner of the log calls when the removal is durable.
 *
 * <p><b>Threading:</b> thread-safe under one lock of its own, which is never held across a call that blocks.
 */
final class StoredIndex {
    private static final System.Logger LOG = System.getLogger(StoredIndex.class.getName());

    private final ReentrantLock lock = new ReentrantLock();
    private final Room room;
    private final DiskEviction eviction;
    private final Map<ObjectKey, Held> values = new HashMap<>();
    /** The same in order of use, the oldest first: one that comes is not always the youngest. */
    private final NavigableSet<Held> byUse = new TreeSet<>();
    /** Those that may lie in memory as well, in order of use. */
    private final NavigableSet<Held> copies = new TreeSet<>();
    private final List<StoredValue> resting = new ArrayList<>();
    /** Of uses; tells those of the same nanosecond apart. */
    private long uses;

    /** The room that values take. */
    interface Room {
        /** A value that was found takes its own; false when another one has it. */
        boolean take(StoredValue value);

        /** That of values that are gone, durably, is free for others. */
        void free(List<StoredValue> gone);
    }

    /** A value and its readers; fields are guarded by the lock of the index. */
    static final class Held implements Comparable<Held> {
        private final StoredValue value;
        private long usedNanos;
        private long use;
        private int readers;
        private boolean removed;

        Held(final StoredValue value) {
            this.value = value;
        }

        StoredValue value() {
            return value;
        }

        /** By last use; these are readings of a clock that may overflow. */
        @Override
        public int compareTo(final Held other) {
            final int byTime = Long.signum(usedNanos - other.usedNanos);
            return byTime == 0 ? Long.compare(use, other.use) : byTime;
        }
    }

    /**
     * Empty.
     *
     * @param room     that values take.
     * @param eviction what counts as a use; under FIFO only that a value comes, or may not be evicted.
     */
    StoredIndex(final Room room, final DiskEviction eviction) {
        this.room = room;
        this.eviction = eviction;
    }

    /** Takes in what a log says, oldest first; of several values of one key, or on one range, the youngest stays. */
    List<StoredValue> restore(final List<StoredValue> found, final long capacity) {
        lock.lock();
        try {
            for (int i = found.size() - 1; i >= 0; i--) {
                final StoredValue value = found.get(i);
                // The size first: what is too large for a number is no extent at all.
                final boolean inside = value.offset() >= 0 && value.size() >= 0 && value.size() <= capacity
                    && value.offset() <= capacity - extentBytes(value);
                if (!inside || values.containsKey(value.key())
                    || !room.take(value)) {
                    LOG.log(System.Logger.Level.WARNING, "stored value {0} version {1} is older than another one in "
                        + "its place and is left out", value.key(), value.version());
                } else {
                    values.put(value.key(), new Held(value));
                }
            }
            final List<StoredValue> kept = found.stream()
                .filter(value -> values.get(value.key()) != null && values.get(value.key()).value == value).toList();
            final long openedNanos = System.nanoTime();
            kept.forEach(value -> place(values.get(value.key()), openedNanos));
            return kept;
        } finally {
            lock.unlock();
        }
    }

    /** A durable value becomes readable; it was used last then, by {@link System#nanoTime}. */
    void publish(final StoredValue value, final long usedNanos) {
        lock.lock();
        try {
            final Held published = new Held(value);
            final Held before = values.put(value.key(), published);
            if (before != null) {
                takeOut(before);
                retire(before);
            }
            place(published, eviction == DiskEviction.FIFO ? System.nanoTime() : usedNanos);
        } finally {
            lock.unlock();
        }
    }

    /** Null when that version is not there. */
    Held acquire(final ObjectKey key, final long version) {
        lock.lock();
        try {
            final Held held = values.get(key);
            if (held == null || held.value.version() != version) {
                return null;
            }
            held.readers++;
            if (eviction == DiskEviction.LRU) {
                used(held);
            }
            return held;
        } finally {
            lock.unlock();
        }
    }

    void release(final Held held) {
        lock.lock();
        try {
            held.readers--;
            if (held.removed && held.readers == 0) {
                resting.add(held.value);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Takes a value out; null when that version is not there. */
    StoredValue remove(final ObjectKey key, final long version) {
        lock.lock();
        try {
            final Held held = values.get(key);
            if (held == null || held.value.version() != version) {
                return null;
            }
            values.remove(key);
            takeOut(held);
            retire(held);
            return held.value;
        } finally {
            lock.unlock();
        }
    }

    /** Takes that very copy out; null when it is out already, though another copy of the same version may be there. */
    StoredValue remove(final Held held) {
        lock.lock();
        try {
            if (held.removed) {
                return null;
            }
            values.remove(held.value.key());
            takeOut(held);
            retire(held);
            return held.value;
        } finally {
            lock.unlock();
        }
    }

    /** The values used longest ago that nobody reads, until they make up so many bytes. */
    List<StoredValue> oldest(final long bytes) {
        return oldest(byUse, bytes);
    }

    /** The same of those that may lie in memory as well. */
    List<StoredValue> oldestCopies(final long bytes) {
        return oldest(copies, bytes);
    }

    private List<StoredValue> oldest(final NavigableSet<Held> among, final long bytes) {
        final List<StoredValue> oldest = new ArrayList<>();
        lock.lock();
        try {
            long sum = 0;
            for (final Held held : among) {
                if (sum >= bytes) {
                    break;
                }
                if (held.readers == 0) {
                    oldest.add(held.value);
                    sum += extentBytes(held.value);
                }
            }
        } finally {
            lock.unlock();
        }
        return oldest;
    }

    /** A value lies in memory as well. */
    void copiedUp(final ObjectKey key) {
        lock.lock();
        try {
            final Held held = values.get(key);
            if (held != null) {
                copies.add(held);
            }
        } finally {
            lock.unlock();
        }
    }

    /** It does not, or not any more. */
    void onlyHere(final ObjectKey key) {
        lock.lock();
        try {
            final Held held = values.get(key);
            if (held != null) {
                copies.remove(held);
            }
        } finally {
            lock.unlock();
        }
    }

    /** A value that may not be evicted counts as used, so that others are looked at first. */
    void defer(final StoredValue value) {
        lock.lock();
        try {
            final Held held = values.get(value.key());
            if (held != null) {
                used(held);
            }
        } finally {
            lock.unlock();
        }
    }

    int size() {
        lock.lock();
        try {
            return values.size();
        } finally {
            lock.unlock();
        }
    }

    /** All values, oldest first. */
    List<StoredValue> values() {
        lock.lock();
        try {
            return byUse.stream().map(Held::value).toList();
        } finally {
            lock.unlock();
        }
    }

    /** An extent that no value has, but that must not be used again yet. */
    void rest(final StoredValue value) {
        lock.lock();
        try {
            resting.add(value);
        } finally {
            lock.unlock();
        }
    }

    boolean hasResting() {
        lock.lock();
        try {
            return !resting.isEmpty();
        } finally {
            lock.unlock();
        }
    }

    /** Gives the room of removals that are durable now back. Blocks on the disk, without the lock. */
    void freeResting() {
        final List<StoredValue> gone;
        lock.lock();
        try {
            gone = List.copyOf(resting);
            resting.clear();
        } finally {
            lock.unlock();
        }
        room.free(gone);
    }

    /** The values that are no longer there when these are published, in order. */
    List<StoredValue> replacedBy(final List<StoredValue> published) {
        final Map<ObjectKey, StoredValue> last = new HashMap<>();
        final List<StoredValue> replaced = new ArrayList<>();
        lock.lock();
        try {
            for (final StoredValue value : published) {
                final StoredValue before = last.put(value.key(), value);
                if (before != null) {
                    replaced.add(before);
                }
            }
            for (final ObjectKey key : last.keySet()) {
                if (values.containsKey(key)) {
                    replaced.add(values.get(key).value);
                }
            }
        } finally {
            lock.unlock();
        }
        return replaced;
    }

    private void place(final Held held, final long usedNanos) {
        held.usedNanos = usedNanos;
        held.use = uses;
        uses++;
        byUse.add(held);
    }

    private void used(final Held held) {
        final boolean copied = takeOut(held);
        place(held, System.nanoTime());
        if (copied) {
            copies.add(held);
        }
    }

    /** Of the orders; whether it may lie in memory as well. */
    private boolean takeOut(final Held held) {
        byUse.remove(held);
        return copies.remove(held);
    }

    private void retire(final Held held) {
        held.removed = true;
        if (held.readers == 0) {
            resting.add(held.value);
        }
    }

    private static long extentBytes(final StoredValue value) {
        return DataFile.extentBytes(value.size());
    }
}
