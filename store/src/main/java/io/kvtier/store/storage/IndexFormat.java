package io.kvtier.store.storage;

import java.nio.ByteBuffer;
import java.util.List;

/**
 * What the records of an {@link IndexLog} look like, and what they mean.
 *
 * <p><b>Threading:</b> immutable; a {@link Replay} is for one thread.
 *
 * @param <R> a record.
 * @param <V> a value that records tell of.
 */
interface IndexFormat<R, V> {
    /** What is there after some records, in order of the log. */
    interface Replay<R, V> {
        /** Takes the next record into account. */
        void apply(R next);

        /** The values that are there now, least recently stored first. */
        List<V> live();
    }

    /** The first eight bytes of a log with such records. */
    long magic();

    /** Another version is refused. */
    int version();

    /** Most bytes that one record takes. */
    int maxBytes();

    /** The record that says that a value is there. */
    R stored(V value);

    /** Appends a record to a little-endian buffer that has {@link #maxBytes()} left. */
    void encode(R next, ByteBuffer buffer);

    /**
     * The next record of a little-endian buffer, or null where the log ends: nothing follows, or what follows was not
     * written whole.
     *
     * @throws IllegalArgumentException when it was written whole, and is no record; the buffer's position stays.
     */
    R decode(ByteBuffer buffer);

    /** The beginning of a log. */
    Replay<R, V> replay();
}
