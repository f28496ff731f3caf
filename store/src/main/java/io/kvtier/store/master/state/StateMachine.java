package io.kvtier.store.master.state;

import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.snapshot.SnapshotSource;

/**
 * What a master runs: a state that nothing but commands changes, each with the time at which it happens. The same
 * commands with the same times bring about the same state, answers and effects.
 *
 * <p><b>Threading:</b> one command at a time.
 */
public interface StateMachine extends AutoCloseable {
    /**
     * Lets time pass up to a command's, and then applies it.
     *
     * @param <R>     the answer's type.
     * @param command what happens.
     * @param nowMs   when, in milliseconds of any clock, 0 or more; never earlier than the command before.
     * @return the answer.
     * @throws StoreException when it is refused.
     */
    <R> R apply(Command<R> command, long nowMs);

    /**
     * What it can be saved by while it goes on.
     *
     * @return the source of snapshots, always the same state's.
     */
    default SnapshotSource snapshots() {
        throw new UnsupportedOperationException("this state cannot be saved");
    }

    /** Frees what is not heap; no command comes afterwards. */
    @Override
    void close();
}
