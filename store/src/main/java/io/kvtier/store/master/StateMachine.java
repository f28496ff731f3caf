package io.kvtier.store.master;

import io.kvtier.store.protocol.Command;

/** What a conductor runs: one command at a time, and time does not go back. */
interface StateMachine extends AutoCloseable {
    /**
     * Applies a command.
     *
     * @param <R>     the answer's type.
     * @param command what happens.
     * @param nowMs   when.
     * @return the answer.
     */
    <R> R apply(Command<R> command, long nowMs);

    @Override
    void close();
}
