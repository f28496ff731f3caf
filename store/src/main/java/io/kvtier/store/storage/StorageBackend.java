package io.kvtier.store.storage;

import io.kvtier.alloc.RegionSlice;
import io.kvtier.store.ObjectKey;
import io.kvtier.transport.Transfer;
import java.util.List;

/**
 * Keeps values on a client's own disk.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> closing makes the index durable; what was stored is found by the
 * next backend on the same directory. <b>Blocking:</b> on the disk, on threads of the transfer engine or of the
 * backend, so that a virtual thread that calls parks.
 */
public interface StorageBackend extends AutoCloseable {
    /**
     * A value to store.
     *
     * @param key       its name.
     * @param version   its version.
     * @param memory    where its bytes are; the slice may be longer than the value by the padding to a whole unit,
     *                  which is then written too.
     * @param size      bytes of the value.
     * @param usedNanos when it was used last, by {@link System#nanoTime}: those used longest ago are evicted first.
     */
    record Item(ObjectKey key, long version, RegionSlice memory, long size, long usedNanos) {
        /**
         * Of a value that has just been used.
         *
         * @param key     its name.
         * @param version its version.
         * @param memory  where its bytes are.
         * @param size    bytes of the value.
         */
        public Item(final ObjectKey key, final long version, final RegionSlice memory, final long size) {
            this(key, version, memory, size, System.nanoTime());
        }
    }

    /** What became of a value that was to be stored. */
    enum Outcome {
        /** It is durable, and can be read and found after a restart. */
        STORED,
        /** It was removed while it was being stored; nothing is left of it. */
        REMOVED_MEANWHILE,
        /** There is no room and nothing may be evicted. */
        NO_SPACE,
        /** It is larger than the whole disk tier. */
        TOO_LARGE,
        /** The device failed. */
        FAILED
    }

    /**
     * One value's result.
     *
     * @param outcome  what became of it.
     * @param checksum XXH64 of the value; meaningful when it was stored.
     * @param cause    why it failed; null when it did not.
     */
    record Result(Outcome outcome, long checksum, Throwable cause) {
    }

    /** Who knows which values are still wanted. Called under a lock of the backend: it must not call back. */
    interface Owner {
        /**
         * Asks which values may go to make room; what is allowed is forgotten by the owner at once.
         *
         * @param victims candidates, oldest first.
         * @return one answer a candidate.
         */
        List<Boolean> mayEvict(List<StoredValue> victims);

        /**
         * As {@link #mayEvict}, of values that may lie elsewhere too: allowed are those of which another copy stays.
         *
         * @param victims candidates, oldest first.
         * @return one answer a candidate.
         */
        List<Boolean> mayEvictCopies(List<StoredValue> victims);

        /**
         * Asks whether a value is still wanted.
         *
         * @param key     its name.
         * @param version its version.
         * @return false when it was removed.
         */
        boolean isCurrent(ObjectKey key, long version);
    }

    /** A hold on a value on the disk: while it is open, its bytes stay where they are. */
    interface ReadLease extends AutoCloseable {
        /**
         * What is held.
         *
         * @return the value.
         */
        StoredValue value();

        /**
         * Starts to read the value.
         *
         * @param target memory of at least the value's size; where it has room for the padding to a whole unit, that
         *               is read too, which spares a copy.
         * @param alone  whether the caller has nothing else to do meanwhile: a platform thread then reads by itself.
         * @return the transfer; wait for it before the lease is closed.
         */
        Transfer read(RegionSlice target, boolean alone);

        /**
         * Removes the copy that is held, as {@link StorageBackend#remove} does. What the same version was stored as
         * after this hold was taken is another copy and stays.
         *
         * @throws io.kvtier.store.StoreException FILE_WRITE_FAIL, as with {@link StorageBackend#remove}.
         */
        void discard();

        /** Lets go. */
        @Override
        void close();
    }

    /**
     * What was found when the backend was opened, least recently used first.
     *
     * @return a copy.
     */
    List<StoredValue> recovered();

    /**
     * What is there now, least recently used first.
     *
     * @return a copy.
     */
    List<StoredValue> stored();

    /**
     * Stores values; each succeeds or fails alone.
     *
     * @param items what to store.
     * @param owner asked before a value is evicted to make room, and before one is committed.
     * @return one result an item, in order.
     */
    List<Result> store(List<Item> items, Owner owner);

    /**
     * Takes a hold on a value and counts it as used.
     *
     * @param key     its name.
     * @param version its version.
     * @return the hold, or null when it is not there.
     */
    ReadLease acquire(ObjectKey key, long version);

    /**
     * A value that is here now lies in memory as well. Where room is wanted it goes before all others, if the owner
     * says that it is still there.
     *
     * @param key its name; nothing happens when it is not here.
     */
    void copiedUp(ObjectKey key);

    /**
     * Removes a value; the owner must have forgotten it before, so that one that is being stored now is not committed.
     * When this returns, no later backend on the directory finds it after the process has died; after a power failure
     * only once a later store or close has made the index durable. Its space is used again when the last hold is
     * closed.
     *
     * @param key     its name.
     * @param version its version.
     * @throws io.kvtier.store.StoreException FILE_WRITE_FAIL when the removal could not be written down: the value
     *                                        cannot be read any more, but a later backend may find it.
     */
    void remove(ObjectKey key, long version);

    /**
     * Bytes it can hold.
     *
     * @return bytes.
     */
    long capacityBytes();

    /**
     * Bytes allocated now, removed values that are still held included.
     *
     * @return bytes.
     */
    long usedBytes();

    /** Ends the backend: makes the index durable and closes its files. A second call does nothing. */
    @Override
    void close();
}
