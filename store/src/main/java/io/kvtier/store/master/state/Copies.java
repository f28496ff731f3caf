package io.kvtier.store.master.state;

import java.util.UUID;

/** All that copies between replicas, for those to whom it does not matter what exactly does. */
record Copies(Promotions promotions, Replications replications, Tasks tasks, PageCommands pages,
              KeyFileWrites keyFiles) {
    /** A client is gone: it does nothing any more. */
    void clientGone(final UUID clientId, final long nowMs) {
        promotions.clientGone(clientId, nowMs);
        replications.clientGone(clientId, nowMs);
        tasks.clientGone(clientId);
        pages.clientGone(clientId, nowMs);
        keyFiles.clientGone(clientId, nowMs);
    }

    /** A replica that is being filled, and not by a put, lies in a segment that is gone; false when it is of a put. */
    boolean lost(final PlacedReplica replica, final long nowMs) {
        if (replica.owner().promotion() == replica) {
            promotions.lost(replica, nowMs);
        } else if (replica.owner().isReplicating()) {
            replications.lost(replica, nowMs);
        } else {
            return false;
        }
        return true;
    }

    /** Gives up what has not ended in time. */
    void expire(final long nowMs) {
        promotions.expire(nowMs);
        replications.expire(nowMs);
        tasks.expire(nowMs);
        pages.expire(nowMs);
        keyFiles.expire(nowMs);
    }
}
