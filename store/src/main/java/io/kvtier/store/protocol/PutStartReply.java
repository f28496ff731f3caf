package io.kvtier.store.protocol;

import io.kvtier.store.PutOutcome;
import io.kvtier.store.replica.Replica;
import java.util.List;

/** Answer to {@link ObjectCommand.PutStart}. */
public sealed interface PutStartReply {
    /**
     * Room was allocated: write the value there, then end or revoke.
     *
     * @param version  the object's version.
     * @param replicas where to write; fewer than were asked for when there are not enough segments with room.
     */
    record Started(long version, List<Replica> replicas) implements PutStartReply {
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
