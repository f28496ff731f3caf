package io.kvtier.store.protocol;

import io.kvtier.store.PutOutcome;
import io.kvtier.store.replica.ReplicaDescriptor;

/** Answer to {@link Command.PutStart}. */
public sealed interface PutStartReply {
    /**
     * Memory was allocated: write the value there, then end or revoke.
     *
     * @param version the object's version.
     * @param memory  where to write.
     */
    record Started(long version, ReplicaDescriptor.Memory memory) implements PutStartReply {
    }

    /**
     * The key is taken.
     *
     * @param outcome ALREADY_EXISTS or BEING_WRITTEN.
     */
    record Taken(PutOutcome outcome) implements PutStartReply {
    }

    /**
     * There is no room now.
     *
     * @param mayComeFree whether something is under way that frees room: an offload, a read or a write that will end.
     */
    record NoSpace(boolean mayComeFree) implements PutStartReply {
    }

    /**
     * The value can never fit.
     *
     * @param largest bytes of the largest value that could.
     */
    record TooLarge(long largest) implements PutStartReply {
    }
}
