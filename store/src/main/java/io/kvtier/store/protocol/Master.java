package io.kvtier.store.protocol;

/** Where commands go: a master in this process, or a connection to one elsewhere. */
public interface Master {
    /**
     * Applies a command and waits for the answer.
     *
     * @param <R>     the answer's type.
     * @param command what happens.
     * @return the answer.
     */
    <R> R apply(Command<R> command);
}
