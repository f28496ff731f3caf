package io.kvtier.store.master.state;

import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaStatus;
import io.kvtier.store.replica.ReplicaType;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** Replicas on clients' own disks: recorded when durable, adopted after a restart, dropped when evicted or bad. */
final class DiskReplicas {
    private final ObjectCatalogue catalogue;
    private long count;
    private long evictions;
    private long promotions;

    DiskReplicas(final ObjectCatalogue catalogue) {
        this.catalogue = catalogue;
    }

    /** A copy became durable. */
    void stored(final ObjectEntry entry, final UUID clientId, final long checksum) {
        add(entry, clientId, checksum);
    }

    /** A copy was read back into memory. */
    void promoted() {
        promotions++;
    }

    /** An object went with all its replicas. */
    void forget(final ObjectEntry entry) {
        for (final Replica replica : entry.record().replicas()) {
            if (replica.type() == ReplicaType.LOCAL_DISK) {
                count--;
            }
        }
    }

    /** Forgets one disk replica; false when it is not one, or gone. */
    boolean drop(final ObjectEntry entry, final long replicaId) {
        for (final Replica replica : entry.record().replicas()) {
            if (replica.id() == replicaId && replica.type() == ReplicaType.LOCAL_DISK) {
                count--;
                catalogue.dropReplica(entry, replicaId);
                return true;
            }
        }
        return false;
    }

    /** Allows a value to go unless its object is leased and has no other copy. */
    List<Boolean> evict(final DiskCommand.EvictDisk evict, final long nowMs) {
        final List<Boolean> allowed = new ArrayList<>(evict.values().size());
        for (final DiskCommand.StoredObject value : evict.values()) {
            final ObjectEntry entry = catalogue.find(value.key(), value.version());
            final Replica replica = entry == null ? null : own(entry, evict.clientId());
            if (replica == null) {
                // The master does not know it (any more), so nobody will ask for it.
                allowed.add(true);
                continue;
            }
            final boolean lastCopy = entry.record().replicas().size() == 1;
            if (lastCopy && entry.isLeased(nowMs)) {
                allowed.add(false);
                continue;
            }
            evictions++;
            drop(entry, replica.id());
            allowed.add(true);
        }
        return allowed;
    }

    /** Takes a value in that a client found, unless the key is taken by another version. */
    List<Boolean> adopt(final DiskCommand.AdoptDisk adopt) {
        final List<Boolean> adopted = new ArrayList<>(adopt.values().size());
        for (final DiskCommand.StoredObject value : adopt.values()) {
            catalogue.versionSeen(value.version());
            if (catalogue.find(value.key()) != null) {
                adopted.add(false);
                continue;
            }
            add(catalogue.add(value.key(), value.version(), value.size()), adopt.clientId(), value.checksum());
            adopted.add(true);
        }
        return adopted;
    }

    long count() {
        return count;
    }

    long evictions() {
        return evictions;
    }

    long promotions() {
        return promotions;
    }

    private void add(final ObjectEntry entry, final UUID clientId, final long checksum) {
        entry.replace(entry.record().withChecksum(checksum));
        catalogue.addReplica(entry, new Replica(catalogue.nextReplicaId(), ReplicaStatus.COMPLETE,
            new ReplicaDescriptor.LocalDisk(clientId, entry.record().size(), "")));
        count++;
    }

    private static Replica own(final ObjectEntry entry, final UUID clientId) {
        for (final Replica replica : entry.record().replicas()) {
            if (replica.descriptor() instanceof ReplicaDescriptor.LocalDisk disk && disk.clientId().equals(clientId)) {
                return replica;
            }
        }
        return null;
    }
}
