package io.kvtier.store.master.state;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.replica.Replica;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * All objects by name, and the numbers that tell one object or replica from every other.
 *
 * <p>In buckets, each a table of its own: none of them ever grows so large that its growth is felt, and a scan is a
 * walk over buckets whose cursor needs nothing kept between its parts.
 */
final class ObjectCatalogue {
    static final int BUCKETS = 4096;
    /**
     * Versions and replica ids of a term begin at a multiple of this, so that none of them is one of an earlier master:
     * a late command would be taken for one about another object, and a value on a disk for another one.
     */
    private static final int BITS_WITHIN_TERM = 20;
    private static final long TERMS = 1L << Long.SIZE - 1 - BITS_WITHIN_TERM;

    @SuppressWarnings({"unchecked", "rawtypes"}) // An array of a generic type cannot be made otherwise.
    private final Map<ObjectKey, ObjectEntry>[] buckets = new Map[BUCKETS];
    private final Map<ObjectKey, ObjectGroup> groups = new HashMap<>();
    private final SoftPins pins;
    private final Tenants tenants;
    private final ObjectCopies copies;
    private long size;
    /** Of this term are greater ones. */
    private final long versionsBefore;
    private long lastVersion;
    private long lastReplicaId;

    ObjectCatalogue(final SoftPins pins, final Tenants tenants, final ObjectCopies copies, final long term) {
        this.pins = pins;
        this.tenants = tenants;
        this.copies = copies;
        versionsBefore = (term & TERMS - 1) << BITS_WITHIN_TERM;
        lastVersion = versionsBefore;
        lastReplicaId = lastVersion;
    }

    /** Who is charged for what the objects take. */
    Tenants tenants() {
        return tenants;
    }

    /** The entry, or null. */
    ObjectEntry find(final ObjectKey key) {
        final Map<ObjectKey, ObjectEntry> bucket = buckets[bucketOf(key)];
        return bucket == null ? null : bucket.get(key);
    }

    /** The entry when its readable value still is that version, or null. */
    ObjectEntry find(final ObjectKey key, final long version) {
        final ObjectEntry entry = find(key);
        return entry != null && entry.record() != null && entry.record().version() == version ? entry : null;
    }

    /** The objects of one bucket, not to be changed while they are walked over. */
    Collection<ObjectEntry> bucket(final int index) {
        return buckets[index] == null ? List.of() : buckets[index].values();
    }

    ObjectEntry add(final ObjectKey key) {
        final ObjectEntry entry = new ObjectEntry(key);
        add(entry);
        return entry;
    }

    /** Adds an object of a name that no other one has. */
    void add(final ObjectEntry entry) {
        final ObjectKey key = entry.key();
        final int index = bucketOf(key);
        if (buckets[index] == null) {
            buckets[index] = new HashMap<>();
        }
        buckets[index].put(key, entry);
        copies.added(entry);
        size++;
        tenants.objectAdded(key.tenant());
    }

    /**
     * The one way out: takes an object out of the catalogue and of everything that knows it by name. Its replicas are
     * the caller's to free.
     */
    void remove(final ObjectEntry entry) {
        final int index = bucketOf(entry.key());
        if (buckets[index] == null || buckets[index].get(entry.key()) != entry) {
            return;
        }
        copies.before(entry);
        buckets[index].remove(entry.key());
        copies.removed(entry);
        size--;
        if (buckets[index].isEmpty()) {
            buckets[index] = null;
        }
        leaveGroup(entry);
        pins.unpin(entry);
        tenants.objectRemoved(entry.key().tenant());
    }

    /** Takes a replica out of an object's record; the object goes with the last thing it has. */
    void dropReplica(final ObjectEntry entry, final long replicaId) {
        if (entry.record() != null) {
            replace(entry, entry.record().without(replicaId));
        }
        removeIfEmpty(entry);
    }

    void removeIfEmpty(final ObjectEntry entry) {
        if (entry.isEmpty()) {
            remove(entry);
        }
    }

    void addReplica(final ObjectEntry entry, final Replica replica) {
        replace(entry, entry.record().with(replica));
    }

    /** The one way to another record. */
    void replace(final ObjectEntry entry, final ObjectRecord record) {
        copies.before(entry);
        entry.replace(record);
    }

    /** Makes an object a member of its tenant's group of that name. */
    void joinGroup(final ObjectEntry entry, final String name) {
        final ObjectGroup group = groups.computeIfAbsent(ObjectKey.of(entry.key().tenant(), name),
            key -> new ObjectGroup(key.tenant(), key.key()));
        group.members().add(entry);
        entry.group(group);
    }

    private void leaveGroup(final ObjectEntry entry) {
        final ObjectGroup group = entry.group();
        if (group != null && group.members().remove(entry) && group.members().isEmpty()) {
            groups.remove(ObjectKey.of(group.tenant(), group.name()));
        }
    }

    long nextVersion() {
        return ++lastVersion;
    }

    /** Whether a value was put under an earlier master. */
    boolean isOfEarlierTerm(final long version) {
        return version <= versionsBefore;
    }

    /** Values that there have been have this version or a smaller one. */
    long lastVersion() {
        return lastVersion;
    }

    /** Versions found on a disk must not be given out again. */
    void versionSeen(final long version) {
        lastVersion = Math.max(lastVersion, version);
    }

    /** Nor those of a snapshot. */
    void replicaSeen(final long replicaId) {
        lastReplicaId = Math.max(lastReplicaId, replicaId);
    }

    long nextReplicaId() {
        return ++lastReplicaId;
    }

    /** Replicas that exist have this id or a smaller one. */
    long lastReplicaId() {
        return lastReplicaId;
    }

    long size() {
        return size;
    }

    long groups() {
        return groups.size();
    }

    /** The bucket that a key is in. */
    static int bucketOf(final ObjectKey key) {
        // The bucket's own table goes by the lower half of the hash.
        final int hash = key.hashCode() * 0x9E3779B9;
        return hash >>> Integer.SIZE - Integer.numberOfTrailingZeros(BUCKETS);
    }
}
