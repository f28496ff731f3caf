package io.kvtier.store.protocol;

/**
 * Something that happens to the master's state: a request of a client or an operator, or the passing of time.
 *
 * <p>A command that cannot be carried out is refused with a {@link io.kvtier.store.StoreException} and leaves no trace,
 * but that of its time.
 * Outcomes that are part of normal life, such as a miss or a key that is taken, are answers and not exceptions.
 *
 * @param <R> what the master answers.
 */
public sealed interface Command<R>
    permits ObjectCommand, SegmentCommand, DiskCommand, GdsCommand, PageCommand, TaskCommand, AdminCommand, Batch {
    /** An answer that is only a code. */
    enum Ack {
        /** Done, now or by an earlier copy of the same command. */
        OK,
        /** There is no such object, version, replica or task any more; nothing was done. */
        STALE
    }
}
