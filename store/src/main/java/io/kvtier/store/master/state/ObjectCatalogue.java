package io.kvtier.store.master.state;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.replica.Replica;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** All objects by name, and the numbers that tell one object or replica from every other. */
final class ObjectCatalogue {
    private final Map<ObjectKey, ObjectEntry> entries = new HashMap<>();
    private long lastVersion;
    private long lastReplicaId;

    /** The entry, or null. */
    ObjectEntry find(final ObjectKey key) {
        return entries.get(key);
    }

    /** The entry when it still is that object, or null. */
    ObjectEntry find(final ObjectKey key, final long version) {
        final ObjectEntry entry = entries.get(key);
        return entry != null && entry.record().version() == version ? entry : null;
    }

    ObjectEntry add(final ObjectKey key, final long version, final long size) {
        final ObjectEntry entry = new ObjectEntry(new ObjectRecord(key, version, size, false, 0, List.of()));
        entries.put(key, entry);
        return entry;
    }

    void remove(final ObjectEntry entry) {
        entries.remove(entry.record().key(), entry);
    }

    /** Takes a replica out of an object's record; the object goes with its last replica. */
    void dropReplica(final ObjectEntry entry, final long replicaId) {
        entry.replace(entry.record().without(replicaId));
        if (entry.record().replicas().isEmpty() && entry.memory() == null) {
            remove(entry);
        }
    }

    void addReplica(final ObjectEntry entry, final Replica replica) {
        entry.replace(entry.record().with(replica));
    }

    long nextVersion() {
        return ++lastVersion;
    }

    /** Versions found on a disk must not be given out again. */
    void versionSeen(final long version) {
        lastVersion = Math.max(lastVersion, version);
    }

    long nextReplicaId() {
        return ++lastReplicaId;
    }

    long size() {
        return entries.size();
    }
}
