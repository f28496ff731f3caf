package io.kvtier.store.master.state;

import io.kvtier.store.protocol.WorkKind;
import java.util.UUID;

/** What the state machine asks its runner to do after a command; never called back into the state. */
public interface Effects {
    /**
     * Something waits for a client to fetch it.
     *
     * @param clientId the client.
     * @param kind     what.
     */
    void workQueued(UUID clientId, WorkKind kind);

    /** Room was freed, or something that kept room from being freed has ended. */
    void spaceFreed();
}
