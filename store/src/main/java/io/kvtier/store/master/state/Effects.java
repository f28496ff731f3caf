package io.kvtier.store.master.state;

import java.util.UUID;

/** What the state machine asks its runner to do after a command; never called back into the state. */
public interface Effects {
    /**
     * Offload tasks wait for a client.
     *
     * @param clientId the client.
     */
    void offloadsQueued(UUID clientId);

    /** Memory was freed, or something that kept memory from being freed has ended. */
    void spaceFreed();
}
