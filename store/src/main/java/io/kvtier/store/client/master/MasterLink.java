package io.kvtier.store.client.master;

import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;
import java.util.UUID;

/** A master that this client shares with others, and what only such a one does. <b>Threading:</b> thread-safe. */
public interface MasterLink extends Master, AutoCloseable {
    /**
     * Starts a put and waits for room where some is coming.
     *
     * @param command what is to be put.
     * @param waitMs  milliseconds at most.
     * @return the answer at the end of the wait.
     */
    PutStartReply putStart(ObjectCommand.PutStart command, long waitMs);

    /**
     * Waits until there is work for a client. Ended by {@link #endWaits()}.
     *
     * @param clientId  the client.
     * @param timeoutMs milliseconds at most.
     * @return the bits of the kinds of work; 0 for none in time.
     */
    int awaitWork(UUID clientId, long timeoutMs);

    /** Ends {@link #awaitWork} now and for good, without touching other calls. */
    void endWaits();

    @Override
    void close();
}
