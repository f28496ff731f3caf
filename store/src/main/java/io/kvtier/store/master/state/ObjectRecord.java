package io.kvtier.store.master.state;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaType;
import java.util.ArrayList;
import java.util.List;

/**
 * What is known of an object. Immutable and replaced on change, so that a snapshot is a copy of references.
 *
 * @param key         its name.
 * @param version     distinguishes it from earlier and later objects of that name; never reused.
 * @param size        bytes of the value.
 * @param checksummed whether {@code checksum} is known.
 * @param checksum    XXH64 of the value.
 * @param replicas    its replicas.
 */
record ObjectRecord(ObjectKey key, long version, long size, boolean checksummed, long checksum,
                    List<Replica> replicas) {
    boolean isReadable() {
        for (int i = 0; i < replicas.size(); i++) {
            if (replicas.get(i).isComplete()) {
                return true;
            }
        }
        return false;
    }

    /** The complete replica of a kind, or null. */
    Replica complete(final ReplicaType type) {
        for (int i = 0; i < replicas.size(); i++) {
            if (replicas.get(i).isComplete() && replicas.get(i).type() == type) {
                return replicas.get(i);
            }
        }
        return null;
    }

    ObjectRecord with(final Replica added) {
        final List<Replica> changed = new ArrayList<>(replicas.size() + 1);
        changed.addAll(replicas);
        changed.add(added);
        return new ObjectRecord(key, version, size, checksummed, checksum, List.copyOf(changed));
    }

    ObjectRecord without(final long replicaId) {
        final List<Replica> changed = new ArrayList<>(replicas);
        changed.removeIf(replica -> replica.id() == replicaId);
        return new ObjectRecord(key, version, size, checksummed, checksum, List.copyOf(changed));
    }

    ObjectRecord withChecksum(final long value) {
        return new ObjectRecord(key, version, size, true, value, replicas);
    }
}
