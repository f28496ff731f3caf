package io.kvtier.store.replica;

import java.util.List;
import java.util.Set;

/**
 * Which replica is read: one function for every read path.
 *
 * <p>Only COMPLETE replicas are read, in this order: MEMORY of the reader's own process, any MEMORY, NOF that the
 * reader has at hand, any NOF, GDS of the reader's own file as it is now, DISTRIBUTED_DISK, LOCAL_DISK of the reader,
 * any LOCAL_DISK, where readers ask each other for it, GDS of others, and last of all DISK; within a rank in the order
 * of the record.
 * After a failed read the caller names the replica as failed and asks again. A kind that this version does not know is
 * never read.
 */
public final class ReplicaSelection {
    private static final int UNREADABLE = Integer.MAX_VALUE;

    private ReplicaSelection() {
    }

    /**
     * The replica to read next.
     *
     * @param replicas the object's replicas.
     * @param reader   what is near to the client that reads.
     * @param failed   ids of replicas that were tried and could not be read.
     * @return the replica, or null when none is left.
     */
    public static Replica best(final List<Replica> replicas, final Locality reader, final Set<Long> failed) {
        Replica best = null;
        int bestRank = UNREADABLE;
        for (int i = 0; i < replicas.size(); i++) {
            final Replica replica = replicas.get(i);
            final int rank = failed.contains(replica.id()) ? UNREADABLE : rank(replica, reader);
            if (rank < bestRank) {
                best = replica;
                bestRank = rank;
            }
        }
        return best;
    }

    private static int rank(final Replica replica, final Locality reader) {
        if (!replica.isComplete()) {
            return UNREADABLE;
        }
        return switch (replica.descriptor()) {
            case ReplicaDescriptor.Memory memory ->
                reader.segments().contains(memory.segment().segmentId()) ? 0 : 1;
            case ReplicaDescriptor.Nof nof -> reader.namespaces().contains(nof.namespace()) ? 2 : 3;
            case ReplicaDescriptor.Gds gds -> rank(gds, reader);
            case ReplicaDescriptor.DistributedDisk ignored -> 5;
            case ReplicaDescriptor.LocalDisk disk -> disk.clientId().equals(reader.clientId()) ? 6 : 7;
            case ReplicaDescriptor.Disk ignored -> 9;
            case ReplicaDescriptor.Unknown ignored -> UNREADABLE;
        };
    }

    /** One of a file that this reader had before is nobody's any more. */
    private static int rank(final ReplicaDescriptor.Gds gds, final Locality reader) {
        if (gds.ownerClientId().equals(reader.clientId())) {
            return reader.gds() != null && reader.gds().isOf(gds) ? 4 : UNREADABLE;
        }
        return reader.asksForGds() ? 8 : UNREADABLE;
    }
}
