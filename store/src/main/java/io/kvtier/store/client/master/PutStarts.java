package io.kvtier.store.client.master;

import io.kvtier.store.StoreException;
import io.kvtier.store.client.call.Counters;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.transport.Gate;

/** Starts puts, and waits for room where some is coming. */
public interface PutStarts {
    /**
     * What the master said.
     *
     * @param reply      its answer; {@code NoSpace} only once waiting is over or of no use.
     * @param askedNanos when it was asked the last time, by {@link System#nanoTime()}: not later than it answered.
     */
    record Answer(PutStartReply reply, long askedNanos) {
    }

    /**
     * Starts a put.
     *
     * @param command what is to be put.
     * @return the answer.
     * @throws StoreException when the store is closed meanwhile, or the thread is interrupted while it waits: it stays
     *                        interrupted.
     */
    Answer start(ObjectCommand.PutStart command);

    /** The store's: puts do not wait once it is closed. */
    Gate gate();

    /** Of the store. */
    Counters counters();

    /** Milliseconds that a put waits at most. */
    long putTimeoutMs();
}
