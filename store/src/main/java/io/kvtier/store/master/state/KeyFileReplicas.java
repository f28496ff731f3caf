package io.kvtier.store.master.state;

import io.kvtier.store.protocol.DiskCommand.KeyFileDrops;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.KeyFolder;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaStatus;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;

/**
 * Replicas that have a file for themselves in a folder that all clients mount. Nobody owns them. A file whose replica
 * goes is named to clients that have the folder until one of them says that it is deleted; since names are never used
 * again, it does not matter who deletes it, nor how often.
 *
 * <p>What was to be deleted when a master ends is in no snapshot: the first client that mounts the folder under another
 * master asks it about every file there, and deletes those that it does not know.
 */
final class KeyFileReplicas {
    private final KeyFolder folder;
    private final ObjectCatalogue catalogue;
    private final Effects effects;
    private final Set<UUID> mounted = new LinkedHashSet<>();
    /** Of replicas, and of those that are being written. */
    private final Set<String> known = new HashSet<>();
    private final NumberedDrops<String> drops;
    private boolean looked;
    private long lastDrop;
    private long count;
    private long used;

    KeyFileReplicas(final KeyFolder folder, final ObjectCatalogue catalogue, final Effects effects) {
        this.folder = folder;
        this.catalogue = catalogue;
        this.effects = effects;
        this.lastDrop = catalogue.lastReplicaId();
        this.drops = new NumberedDrops<>(() -> ++lastDrop, gone -> { });
    }

    KeyFolder folder() {
        return folder;
    }

    /** A client has the folder; true when it is to look for files there that nobody knows. */
    boolean mount(final UUID clientId) {
        mounted.add(clientId);
        final boolean first = !looked;
        looked = true;
        announceDrops();
        return first;
    }

    /** False when it was not mounted. */
    boolean unmount(final UUID clientId) {
        final boolean was = mounted.remove(clientId);
        if (was) {
            // Whoever was told of drops may have been that one.
            announceDrops();
        }
        return was;
    }

    boolean isMounted(final UUID clientId) {
        return mounted.contains(clientId);
    }

    /** The file that a value gets, which is known from now on; null when it is known already. */
    String begin(final ObjectEntry entry) {
        final String path = folder.file(entry.key().tenant(), entry.key().key(), entry.record().version());
        return known.add(path) ? path : null;
    }

    /** A value's file is durable: it is a replica. */
    void stored(final ObjectEntry entry, final String path, final long checksum) {
        known.add(path);
        catalogue.replace(entry, entry.record().withChecksum(checksum));
        catalogue.addReplica(entry, new Replica(catalogue.nextReplicaId(), ReplicaStatus.COMPLETE,
            new ReplicaDescriptor.Disk(path, entry.record().size())));
        count++;
        used += entry.record().size();
    }

    /** A replica goes out of its object's record, or has; so does its file. */
    void forgotten(final ReplicaDescriptor.Disk replica) {
        count--;
        used -= replica.objectSize();
        drop(replica.filePath());
    }

    /** A file is to be deleted if it is there. One outside of the folder is left to whoever put it there. */
    void drop(final String path) {
        known.remove(path);
        if (folder.has(path)) {
            drops.add(path);
            announceDrops();
        }
    }

    private void announceDrops() {
        if (!drops.isEmpty() && !mounted.isEmpty()) {
            effects.workQueued(mounted.iterator().next(), WorkKind.KEY_FILES);
        }
    }

    KeyFileDrops fetch(final UUID clientId, final int max, final long done) {
        if (!isMounted(clientId)) {
            return new KeyFileDrops(List.of(), done);
        }
        final List<String> named = new ArrayList<>();
        final long last = drops.next(max, done, named);
        return new KeyFileDrops(named, last);
    }

    /** Whether each of these files is one of a replica, or is being written. */
    List<Boolean> find(final List<String> paths) {
        return paths.stream().map(known::contains).toList();
    }

    /** Whether an object has such a replica. */
    static boolean has(final ObjectEntry entry) {
        final List<Replica> replicas = entry.record().replicas();
        for (int i = 0; i < replicas.size(); i++) {
            if (replicas.get(i).descriptor() instanceof ReplicaDescriptor.Disk) {
                return true;
            }
        }
        return false;
    }

    long count() {
        return count;
    }

    /** Bytes of the values of these replicas. */
    long used() {
        return used;
    }
}
