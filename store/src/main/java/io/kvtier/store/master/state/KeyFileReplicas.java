package io.kvtier.store.master.state;

import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.DiskCommand.KeyFileDrops;
import io.kvtier.store.protocol.DiskCommand.StoredVersion;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.KeyFolder;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaStatus;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.UUID;

/**
 * Replicas that have a file for themselves in a folder that all clients mount. Nobody owns them. A file whose replica
 * goes is named to clients that have the folder until one of them says that it is deleted; since names are never used
 * again, it does not matter who deletes it, nor how often.
 *
 * <p>What was to be deleted when a master ends is in no snapshot: under another master one client asks about every file
 * there, and deletes those of earlier masters that are not known. Should it go before that is done, another one does.
 */
final class KeyFileReplicas {
    /** What others have on that file system, and its own bookkeeping, get the rest. */
    private static final int TENTHS = 10;

    private final MasterSettings.FileReplicas settings;
    private final ObjectCatalogue catalogue;
    private final Effects effects;
    /** Who has the folder, with the bytes of its file system; the one that was told of something longest ago first. */
    private final SequencedMap<UUID, Long> mounted = new LinkedHashMap<>();
    /** Replicas, oldest first. */
    private final SequencedMap<String, StoredVersion> stored = new LinkedHashMap<>();
    /** Files that are being written, with the bytes they get. */
    private final Map<String, Long> begun = new LinkedHashMap<>();
    private final NumberedDrops<String> drops;
    /** Who asks about all files; null when that is done, or nobody is there who could. */
    private UUID sweeper;
    private boolean swept;
    private long lastDrop;
    private long used;
    private long begunBytes;
    /** Most bytes of values. */
    private long limit;

    KeyFileReplicas(final MasterSettings.FileReplicas settings, final ObjectCatalogue catalogue,
        final Effects effects) {
        this.settings = settings;
        this.catalogue = catalogue;
        this.effects = effects;
        this.limit = limitNow();
        this.lastDrop = catalogue.lastReplicaId();
        this.drops = new NumberedDrops<>(() -> ++lastDrop, gone -> { });
    }

    KeyFolder folder() {
        return settings.folder();
    }

    void mount(final UUID clientId, final long capacity) {
        mounted.put(clientId, capacity);
        limit = limitNow();
        announce();
    }

    /** False when it was not mounted. */
    boolean unmount(final UUID clientId) {
        final boolean was = mounted.remove(clientId) != null;
        if (was) {
            limit = limitNow();
            if (clientId.equals(sweeper)) {
                sweeper = null;
            }
            // Whoever was told of drops may have been that one.
            announce();
        }
        return was;
    }

    boolean isMounted(final UUID clientId) {
        return mounted.containsKey(clientId);
    }

    /**
     * How many bytes have to go before a value gets a file: none, some, or all that there are and more, where it will
     * not do.
     */
    long missing(final long bytes) {
        return bytes > limit ? Long.MAX_VALUE : Math.max(0, used + begunBytes + bytes - limit);
    }

    private long limitNow() {
        if (settings.quotaBytes() > 0) {
            return settings.quotaBytes();
        }
        long least = Long.MAX_VALUE;
        for (final long capacity : mounted.values()) {
            // Of one file system they may see it as different sizes.
            least = capacity > 0 ? Math.min(least, capacity / TENTHS * (TENTHS - 1)) : least;
        }
        return least;
    }

    boolean evicts() {
        return settings.evicts();
    }

    /** What has had a file for longest; there must be one. */
    StoredVersion oldest() {
        return stored.firstEntry().getValue();
    }

    /** The oldest is not to go yet: from now on it is the newest. */
    void spareOldest() {
        final Map.Entry<String, StoredVersion> spared = stored.pollFirstEntry();
        stored.put(spared.getKey(), spared.getValue());
    }

    /** Whether files are named to clients that are still to be deleted. */
    boolean isDropping() {
        return !drops.isEmpty();
    }

    /**
     * The file that a value gets, which is known from now on; null when it is known already, or about to be deleted:
     * one that was not written in time, say.
     */
    String begin(final ObjectEntry entry) {
        final String path = folder().file(entry.key().tenant(), entry.key().key(), entry.record().version());
        if (isKnown(path) || drops.contains(path)) {
            return null;
        }
        begun.put(path, entry.record().size());
        begunBytes += entry.record().size();
        return path;
    }

    private boolean isKnown(final String path) {
        return stored.containsKey(path) || begun.containsKey(path);
    }

    /** A value's file is durable: it is a replica. */
    void stored(final ObjectEntry entry, final long replicaId, final String path, final long checksum) {
        ended(path);
        stored.put(path, new StoredVersion(entry.key(), entry.record().version()));
        catalogue.replace(entry, entry.record().withChecksum(checksum));
        catalogue.addReplica(entry, new Replica(replicaId, ReplicaStatus.COMPLETE,
            new ReplicaDescriptor.Disk(path, entry.record().size())));
        used += entry.record().size();
    }

    private void ended(final String path) {
        final Long bytes = begun.remove(path);
        begunBytes -= bytes == null ? 0 : bytes;
    }

    /** A replica goes out of its object's record, or has; so does its file. */
    void forgotten(final ReplicaDescriptor.Disk replica) {
        used -= replica.objectSize();
        drop(replica.filePath());
    }

    /** A file is to be deleted if it is there. One outside of the folder is left to whoever put it there. */
    void drop(final String path) {
        stored.remove(path);
        ended(path);
        if (folder().has(path)) {
            drops.add(path);
            announce();
        }
    }

    /** One client after the other: a mount that hangs on one of them must not keep files from being deleted. */
    private void announce() {
        final boolean sweep = !swept && sweeper == null;
        if (!mounted.isEmpty() && (sweep || !drops.isEmpty())) {
            final Map.Entry<UUID, Long> next = mounted.pollFirstEntry();
            mounted.put(next.getKey(), next.getValue());
            sweeper = sweep ? next.getKey() : sweeper;
            effects.workQueued(next.getKey(), WorkKind.KEY_FILES);
        }
    }

    KeyFileDrops fetch(final UUID clientId, final int max, final long done) {
        if (!isMounted(clientId)) {
            return new KeyFileDrops(List.of(), done, false);
        }
        final List<String> named = new ArrayList<>();
        final long last = drops.next(max, done, named);
        return new KeyFileDrops(named, last, clientId.equals(sweeper));
    }

    /**
     * Whether each of these files may not be deleted. Names of this master's own versions are not judged: what it wants
     * gone of those it drops. Nor are later ones, of a master that has taken over from this one.
     */
    List<Boolean> find(final UUID clientId, final List<String> paths, final boolean last) {
        if (last && clientId.equals(sweeper)) {
            sweeper = null;
            swept = true;
        }
        return paths.stream().map(path -> isKnown(path) || !isOfEarlierMaster(KeyFolder.version(path))).toList();
    }

    private boolean isOfEarlierMaster(final long version) {
        return version > 0 && catalogue.isOfEarlierTerm(version);
    }

    /** The replica of this kind that an object has, or null. */
    static Replica of(final ObjectEntry entry) {
        final List<Replica> replicas = entry.record().replicas();
        for (int i = 0; i < replicas.size(); i++) {
            if (replicas.get(i).descriptor() instanceof ReplicaDescriptor.Disk) {
                return replicas.get(i);
            }
        }
        return null;
    }

    long count() {
        return stored.size();
    }

    /** Bytes of the values of these replicas. */
    long used() {
        return used;
    }
}
