package io.kvtier.store.replica;

import java.util.List;
import java.util.Set;
import java.util.UUID;

/**
 * Which replica is read: one function for every read path.
 *
 * <p>Only COMPLETE replicas are read, in this order: MEMORY of the reader's own process, any MEMORY, LOCAL_DISK of the
 * reader, any LOCAL_DISK; within a rank in the order of the record. After a failed read the caller names the replica
 * as failed and asks again.
 */
public final class ReplicaSelection {
    private static final int UNREADABLE = Integer.MAX_VALUE;

    private ReplicaSelection() {
    }

    /**
     * The replica to read next.
     *
     * @param replicas the object's replicas.
     * @param reader   the client that reads.
     * @param endpoint where that client answers; a memory replica there is its own.
     * @param failed   ids of replicas that were tried and could not be read.
     * @return the replica, or null when none is left.
     */
    public static Replica best(final List<Replica> replicas, final UUID reader, final String endpoint,
        final Set<Long> failed) {
        Replica best = null;
        int bestRank = UNREADABLE;
        for (int i = 0; i < replicas.size(); i++) {
            final Replica replica = replicas.get(i);
            final int rank = failed.contains(replica.id()) ? UNREADABLE : rank(replica, reader, endpoint);
            if (rank < bestRank) {
                best = replica;
                bestRank = rank;
            }
        }
        return best;
    }

    private static int rank(final Replica replica, final UUID reader, final String endpoint) {
        if (!replica.isComplete()) {
            return UNREADABLE;
        }
        return switch (replica.descriptor()) {
            case ReplicaDescriptor.Memory memory -> memory.endpoint().equals(endpoint) ? 0 : 1;
            case ReplicaDescriptor.LocalDisk disk -> disk.clientId().equals(reader) ? 2 : 3;
        };
    }
}
