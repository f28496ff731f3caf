package io.kvtier.store.snapshot;

import io.kvtier.store.DataType;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.replica.Replica;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * An object that can be read.
 *
 * @param key         its name.
 * @param version     its version.
 * @param size        bytes of the value.
 * @param checksummed whether {@code checksum} is known.
 * @param checksum    XXH64 of the value; 0 when it is not known.
 * @param dataType    what the value is.
 * @param writer      who wrote it.
 * @param hardPinned  whether it is never evicted.
 * @param group       the name of its group; empty for none.
 * @param softPinMs   milliseconds that are left of its soft pin; 0 for none.
 * @param replicas    its complete replicas, those of unknown types among them.
 */
public record SavedObject(ObjectKey key, long version, long size, boolean checksummed, long checksum,
                          DataType dataType, UUID writer, boolean hardPinned, String group, long softPinMs,
                          List<Replica> replicas) {
    /**
     * The same object with other replicas.
     *
     * @param others in place of these.
     * @return the object.
     */
    public SavedObject withReplicas(final List<Replica> others) {
        return new SavedObject(key, version, size, checksummed, checksum, dataType, writer, hardPinned, group,
            softPinMs, others);
    }

    /**
     * This object and what another row has of the same key: of two versions the higher one, of one the replicas of
     * both.
     *
     * @param other the other row.
     * @return one of them, or both.
     */
    public SavedObject with(final SavedObject other) {
        if (version != other.version()) {
            return version > other.version() ? this : other;
        }
        final List<Replica> all = new ArrayList<>(replicas);
        for (final Replica replica : other.replicas()) {
            if (all.stream().noneMatch(known -> known.descriptor().equals(replica.descriptor()))) {
                all.add(replica);
            }
        }
        return withReplicas(List.copyOf(all));
    }
}
