package io.kvtier.store.storage;

import java.util.List;

/**
 * Where an {@link IndexedBackend} keeps the bytes of its values, and where it writes down which are there: it knows
 * files, the backend knows order of use, room and readers.
 *
 * <p><b>Threading:</b> {@link #write} and {@link #access} from any thread; everything else under the lock of the
 * backend, one at a time. <b>Lifetime:</b> closed last, by the backend. <b>Blocking:</b> on the disk, except the
 * accessors and {@link #reserve}.
 */
interface Medium extends StoredIndex.Room, AutoCloseable {
    /** Bytes that values may take, in whole units. */
    long capacityBytes();

    /** Bytes that values take, those included that are reserved and those that were removed and are not free yet. */
    long usedBytes();

    /** Takes room for a value; false when there is none. */
    boolean reserve(PendingStore pending);

    /**
     * Has everything ready that writing reserved values needs. One for which that fails is under way no more.
     *
     * @return those for which the disk has no room, though there is some within the capacity: for another try.
     */
    List<PendingStore> prepare(List<PendingStore> reserved);

    /** Writes what is under way and makes it durable; what could not be is under way no more afterwards. */
    void write(List<PendingStore> batch);

    /** What is under way keeps its place, and a later medium on the directory finds it; as {@link #write} otherwise. */
    void persist(List<PendingStore> batch);

    /**
     * What was reserved for a value that is under way no more is free at once; not a place that is used again, of one
     * that is lost.
     */
    void giveBack(PendingStore pending);

    /**
     * Writes down that values are gone. It counts when the process dies, and when the power fails after a sync.
     *
     * @param removals values.
     */
    void append(List<StoredValue> removals);

    /**
     * Writes down durably what a batch has changed.
     *
     * @param removals values that are gone.
     * @param replaced values that are gone because others have taken their place, for a log that does not say so by
     *                 its order.
     * @param values   persisted ones.
     */
    void record(List<StoredValue> removals, List<StoredValue> replaced, List<StoredValue> values);

    /** Makes durable what was written down. */
    void sync();

    /** Whether it must be written anew before anything else is appended, after an append or a sync that failed. */
    boolean isDamaged();

    /** Whether most of what is written down is of no use any more. */
    boolean isWorthRewriting();

    /** Writes down durably what there is, and nothing else. */
    void rewrite(List<StoredValue> live);

    /** The way to the bytes of a value that somebody holds; to be closed when nothing reads through it any more. */
    ValueAccess access(StoredValue value);

    /** Closes the files. */
    @Override
    void close();
}
