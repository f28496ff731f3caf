package io.kvtier.store.client;

import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;

/** Starts puts, and waits for room where some is coming. */
interface PutStarts {
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
     * @throws io.kvtier.store.StoreException when the store is closed meanwhile.
     */
    Answer start(ObjectCommand.PutStart command);
}
