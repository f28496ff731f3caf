package io.kvtier.store.master.state;

import io.kvtier.store.DataType;
import io.kvtier.store.replica.Replica;
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

}
