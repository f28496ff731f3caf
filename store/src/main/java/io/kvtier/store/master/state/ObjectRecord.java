package io.kvtier.store.master.state;

import io.kvtier.store.DataType;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaType;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * What is known of a readable object. Immutable and replaced on change, so that a snapshot is a copy of references.
 *
 * @param version     distinguishes it from earlier and later objects of that name; never reused.
 * @param size        bytes of the value.
 * @param checksummed whether {@code checksum} is known.
 * @param checksum    XXH64 of the value.
 * @param dataType    what the value is.
 * @param writer      who wrote it.
 * @param replicas    its complete replicas.
 */
record ObjectRecord(long version, long size, boolean checksummed, long checksum, DataType dataType, UUID writer,
                    List<Replica> replicas) {
    ObjectRecord with(final Replica added) {
        if (replicas.isEmpty()) {
            return withReplicas(List.of(added));
        }
        final List<Replica> changed = new ArrayList<>(replicas.size() + 1);
        changed.addAll(replicas);
        changed.add(added);
        return withReplicas(List.copyOf(changed));
    }

    ObjectRecord without(final long replicaId) {
        final List<Replica> changed = new ArrayList<>(replicas);
        changed.removeIf(replica -> replica.id() == replicaId);
        return withReplicas(List.copyOf(changed));
    }

    ObjectRecord withReplicas(final List<Replica> changed) {
        return new ObjectRecord(version, size, checksummed, checksum, dataType, writer, changed);
    }

    ObjectRecord withChecksum(final long value) {
        return new ObjectRecord(version, size, true, value, dataType, writer, replicas);
    }

    /** Whether there is a copy elsewhere than on a medium. */
    boolean hasCopyBeside(final Medium medium) {
        final ReplicaType type = medium == Medium.MEMORY ? ReplicaType.MEMORY : ReplicaType.NOF;
        for (int i = 0; i < replicas.size(); i++) {
            if (replicas.get(i).type() != type && replicas.get(i).type() != ReplicaType.UNKNOWN) {
                return true;
            }
        }
        return false;
    }
}
