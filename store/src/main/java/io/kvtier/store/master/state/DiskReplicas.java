package io.kvtier.store.master.state;

import io.kvtier.store.DataType;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.Drops;
import io.kvtier.store.protocol.DiskCommand.StoredVersion;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaStatus;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.snapshot.SavedObject;
import io.kvtier.store.snapshot.SavedRemovals;
import io.kvtier.store.snapshot.SnapshotHead;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * Replicas on clients' own disks: recorded when durable, adopted after a restart, dropped when evicted or bad.
 *
 * <p>What goes from the metadata while it lies on a disk is queued for the disk's owner to remove, and stays in the
 * queue until the owner says that it is gone. A disk that goes is
 * hidden at once and swept later: its replicas are those of its owner whose ids are not above the one that was the last
 * when it went. What the same owner adopts afterwards has higher ids.
 */
final class DiskReplicas {
    /** Versions found on a disk leave as many to be given out. */
    private static final long MAX_VERSION = Long.MAX_VALUE / 2;
    private static final Medium[] MEDIA = Medium.values();
    private final ObjectCatalogue catalogue;
    private final KeyFileReplicas files;
    private final Effects effects;
    private final Map<UUID, Disk> disks = new HashMap<>();
    /** Last replica id of disks that went and are not swept yet. */
    private final Map<UUID, Long> goneUpTo = new HashMap<>();
    private final RemovedVersions removed = new RemovedVersions();
    private final AwayObjects away;
    private final SoftPins pins;
    private long restoredAtMs;
    /** Whether disks are other processes', and can come back while this master lives. */
    private final boolean remote;
    /** Of a drop; beyond those that another master's drops may have had, as replica ids are. */
    private long lastDrop;
    private long count;
    private long used;
    private long evictions;
    private long promotions;

    private static final class Disk {
        private final String endpoint;
        private final long capacity;
        /** Values that its owner has not said are gone. */
        private final NumberedDrops<StoredVersion> drops;
        private long used;

        Disk(final String endpoint, final long capacity, final LongSupplier numbers) {
            this.endpoint = endpoint;
            this.capacity = capacity;
            this.drops = new NumberedDrops<>(numbers, gone -> { });
        }
    }

    DiskReplicas(final boolean remote, final ObjectCatalogue catalogue, final AwayObjects away, final SoftPins pins,
        final KeyFileReplicas files, final Effects effects) {
        this.files = files;
        this.remote = remote;
        this.catalogue = catalogue;
        this.away = away;
        this.pins = pins;
        this.effects = effects;
        this.lastDrop = catalogue.lastReplicaId();
    }

    /** A disk takes replicas from now on; a second time changes nothing. */
    void mount(final DiskCommand.MountDisk mount) {
        disks.putIfAbsent(mount.clientId(), new Disk(mount.endpoint(), mount.capacity(), () -> ++lastDrop));
    }

    /** Those that have a file for themselves, in a folder that all clients mount. */
    KeyFileReplicas files() {
        return files;
    }

    /** Hides what lies on a disk; false when it is not mounted. */
    boolean unmount(final UUID clientId) {
        if (disks.remove(clientId) == null) {
            return false;
        }
        goneUpTo.put(clientId, catalogue.lastReplicaId());
        return true;
    }

    boolean isMounted(final UUID clientId) {
        return disks.containsKey(clientId);
    }

    /** Whether a replica that stands in a record may lie on a disk that has gone. */
    boolean hasGone() {
        return !goneUpTo.isEmpty();
    }

    boolean isGone(final Replica replica) {
        if (!(replica.descriptor() instanceof ReplicaDescriptor.LocalDisk disk)) {
            return false;
        }
        final Long last = goneUpTo.get(disk.clientId());
        return last != null && replica.id() <= last;
    }

    /** Takes what has gone out of an object's record. */
    void sweep(final ObjectEntry entry) {
        if (entry.record() == null) {
            return;
        }
        for (final Replica replica : entry.record().replicas()) {
            if (isGone(replica)) {
                removed(entry, replica);
                catalogue.dropReplica(entry, replica.id());
            }
        }
    }

    /** All objects have been swept since the disks in question went. */
    void swept(final Map<UUID, Long> which) {
        // One that came back and went again meanwhile has a higher id, and is swept once more.
        which.forEach((client, last) -> goneUpTo.remove(client, last));
    }

    Map<UUID, Long> gone() {
        return Map.copyOf(goneUpTo);
    }

    /** Whether a copy with a checksum is one of an object's value, as far as it is known what that has. */
    static boolean isOf(final ObjectEntry entry, final long checksum) {
        return !entry.record().checksummed() || entry.record().checksum() == checksum;
    }

    /** A copy became durable. */
    void stored(final ObjectEntry entry, final UUID clientId, final long checksum) {
        if (own(entry, clientId) == null) {
            add(entry, clientId, checksum);
        }
    }

    /** Whether a copy is known to be on a client's disk. */
    boolean has(final ObjectEntry entry, final UUID clientId) {
        final Replica replica = own(entry, clientId);
        return replica != null && !isGone(replica);
    }

    /** A copy was read back into memory. */
    void promoted() {
        promotions++;
    }

    /** Somebody wants a key gone that is not there: no disk that is away just now is to bring it back. */
    void forbid(final ObjectKey key) {
        if (remote) {
            removed.add(key, catalogue.lastVersion());
        }
    }

    /** A value takes the place of whatever its key had before, also of what lies on a disk that is away just now. */
    void replaced(final ObjectKey key, final long version) {
        if (remote) {
            removed.add(key, version - 1);
        }
    }

    /**
     * Somebody wants all values of a pattern gone, also those that are not there now.
     *
     * @param tenant whose; empty for all tenants.
     */
    void forbid(final String tenant, final String pattern) {
        if (remote) {
            removed.add(tenant, pattern, catalogue.lastVersion());
        }
    }

    /**
     * A value goes with all its disk replicas; owners are told to remove them.
     *
     * @param told whether an owner in the master's own process is told by the answer to the command, and needs no more.
     */
    void forget(final ObjectEntry entry, final boolean told) {
        if (remote) {
            removed.add(entry.key(), entry.record().version());
        }
        for (final Replica replica : entry.record().replicas()) {
            if (replica.descriptor() instanceof ReplicaDescriptor.LocalDisk disk) {
                removed(entry, replica);
                if (!isGone(replica)) {
                    queueDrop(entry, disk.clientId(), told);
                }
            } else if (replica.descriptor() instanceof ReplicaDescriptor.Disk file) {
                files.forgotten(file);
            }
        }
        final Residency memory = entry.residency(Medium.MEMORY);
        for (PlacedReplica replica = memory == null ? null : memory.first(); replica != null;
            replica = replica.sibling()) {
            if (replica.isOffloading()) {
                // Its owner may have asked already whether it is wanted: then it is on the disk before that is told.
                queueDrop(entry, replica.segment().clientId(), told);
            }
        }
    }

    private void queueDrop(final ObjectEntry entry, final UUID clientId, final boolean told) {
        final Disk disk = disks.get(clientId);
        if (disk != null && !(told && disk.endpoint.isEmpty())) {
            disk.drops.add(new StoredVersion(entry.key(), entry.record().version()));
            effects.workQueued(clientId, WorkKind.DROPS);
        }
    }

    Drops fetchDrops(final DiskCommand.FetchDrops fetch) {
        final Disk disk = disks.get(fetch.clientId());
        if (disk == null) {
            return new Drops(List.of(), fetch.done());
        }
        final List<StoredVersion> named = new ArrayList<>();
        final long last = disk.drops.next(fetch.max(), fetch.done() == DiskCommand.FetchDrops.ALL_NAMED
            ? disk.drops.named() : fetch.done(), named);
        return new Drops(named, last);
    }

    /** Forgets a disk replica that could not be read, and has its owner remove what is left of it; false as below. */
    boolean unreadable(final ObjectEntry entry, final long replicaId) {
        for (final Replica replica : entry.record().replicas()) {
            if (replica.id() == replicaId && replica.descriptor() instanceof ReplicaDescriptor.LocalDisk disk
                && !isGone(replica)) {
                // An owner in the master's own process has found out itself.
                queueDrop(entry, disk.clientId(), true);
            }
        }
        return drop(entry, replicaId);
    }

    /** Forgets one disk replica; false when it is not one, or gone. */
    private boolean drop(final ObjectEntry entry, final long replicaId) {
        for (final Replica replica : entry.record().replicas()) {
            if (replica.id() == replicaId && replica.type() == ReplicaType.LOCAL_DISK) {
                removed(entry, replica);
                catalogue.dropReplica(entry, replicaId);
                return true;
            }
            if (replica.id() == replicaId && replica.descriptor() instanceof ReplicaDescriptor.Disk file) {
                files.forgotten(file);
                catalogue.dropReplica(entry, replicaId);
                return true;
            }
        }
        return false;
    }

    /**
     * Allows a value to go unless its object is leased or pinned hard and has no other copy for all; where only copies
     * are to go, unless it has none.
     */
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
            allowed.add(evict(entry, replica, evict.copies(), nowMs));
        }
        return allowed;
    }

    /** Evicts one that the master knows; false when it is to stay. */
    boolean evict(final ObjectEntry entry, final Replica replica, final boolean onlyCopies, final long nowMs) {
        if ((onlyCopies || entry.isLeased(nowMs) || entry.isHardPinned())
            && !hasCopyBeside(entry, replica, Residency::isForAll)) {
            return false;
        }
        evictions++;
        return drop(entry, replica.id());
    }

    /** Whether an object has a copy on a disk that is not gone. */
    boolean hasCopy(final ObjectEntry entry) {
        return hasCopyBeside(entry.record(), null);
    }

    /** Whether an object has another copy, on a disk or one that counts. */
    private boolean hasCopyBeside(final ObjectEntry entry, final Replica replica, final Predicate<Residency> counts) {
        for (final Medium medium : MEDIA) {
            if (entry.residency(medium) != null && counts.test(entry.residency(medium))) {
                return true;
            }
        }
        return hasCopyBeside(entry.record(), replica);
    }

    private boolean hasCopyBeside(final ObjectRecord object, final Replica replica) {
        for (int i = 0; i < object.replicas().size(); i++) {
            final Replica other = object.replicas().get(i);
            final boolean onDisk = other.type() == ReplicaType.LOCAL_DISK || other.type() == ReplicaType.DISK;
            if (other != replica && onDisk && !isGone(other)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Takes values in that a client found, unless their keys have other versions, or they may have been removed.
     *
     * @param newer hears of each, before: an older value may make way for it.
     */
    List<Boolean> adopt(final DiskCommand.AdoptDisk adopt, final Consumer<Offer> newer) {
        final List<Boolean> adopted = new ArrayList<>(adopt.values().size());
        removed.look();
        for (final DiskCommand.StoredObject value : adopt.values()) {
            adopted.add(isMounted(adopt.clientId()) && adoptOne(new Offer(adopt.clientId(), value.key(),
                value.version(), value.size(), true, value.checksum()), newer));
        }
        return adopted;
    }

    private boolean adoptOne(final Offer offer, final Consumer<Offer> newer) {
        newer.accept(offer);
        final ObjectEntry entry = entryFor(offer);
        if (entry == null) {
            return false;
        }
        stored(entry, offer.clientId(), offer.checksum());
        return true;
    }

    /** A value that a client has found where it keeps values. */
    record Offer(UUID clientId, ObjectKey key, long version, long size, boolean checksummed, long checksum) {
    }

    /**
     * Whether an offered value was put after the one that its key has, and may be taken in. What was put under this
     * master is the newest there is, whatever number a disk comes with.
     */
    boolean isNewer(final Offer offer, final ObjectEntry known) {
        return known.record() != null && catalogue.isOfEarlierTerm(known.record().version())
            && offer.version() > known.record().version() && offer.version() <= MAX_VERSION && offer.size() >= 0
            && !removed.mayContain(offer.key(), offer.version());
    }

    /** Begins to look at some offers: patterns may take so many steps for all of them. */
    void look() {
        removed.look();
    }

    /**
     * The entry that an offered value belongs to, made where its key is not known; null when the value is refused: its
     * key has another version, or it may have been removed or replaced meanwhile.
     */
    ObjectEntry entryFor(final Offer offer) {
        if (offer.version() <= 0 || offer.version() > MAX_VERSION || offer.size() < 0) {
            return null;
        }
        catalogue.versionSeen(offer.version());
        final ObjectEntry known = catalogue.find(offer.key());
        if (known == null) {
            if (removed.mayContain(offer.key(), offer.version())) {
                return null;
            }
            return newEntry(offer);
        }
        if (known.record() == null || known.record().version() != offer.version()
            || known.record().size() != offer.size() || offer.checksummed() && !isOf(known, offer.checksum())) {
            return null;
        }
        // Its owner, or another one, has a copy of the very same value: both are recorded.
        sweep(known);
        if (catalogue.find(offer.key()) != known) {
            return entryFor(offer);
        }
        if (!hasCopyBeside(known, null, Residency::isReadable) && removed.mayContain(offer.key(), offer.version())) {
            // A copy under way keeps the entry of a value that nobody can read any more and somebody wants gone.
            return null;
        }
        return known;
    }

    /** An object whose first replica comes: with what a restored snapshot has of it, if that is the same value. */
    private ObjectEntry newEntry(final Offer offer) {
        final SavedObject saved = away.find(offer.key(), offer.version());
        final boolean same = saved != null && saved.size() == offer.size()
            && (!saved.checksummed() || !offer.checksummed() || saved.checksum() == offer.checksum());
        final ObjectEntry entry = catalogue.add(offer.key());
        final boolean summed = offer.checksummed() || same && saved.checksummed();
        final long checksum = offer.checksummed() || !same ? offer.checksum() : saved.checksum();
        catalogue.replace(entry, new ObjectRecord(offer.version(), offer.size(), summed, checksum,
            same ? saved.dataType() : DataType.UNKNOWN, same ? saved.writer() : offer.clientId(), List.of()));
        if (same) {
            if (saved.hardPinned()) {
                entry.pinHard();
            }
            if (!saved.group().isEmpty()) {
                catalogue.joinGroup(entry, saved.group());
            }
            if (saved.softPinMs() > 0) {
                pins.pin(entry, saved.softPinMs() > Long.MAX_VALUE - restoredAtMs ? Long.MAX_VALUE
                    : restoredAtMs + saved.softPinMs());
            }
        }
        return entry;
    }

    SavedRemovals saveRemovals() {
        return removed.save();
    }

    void restore(final SnapshotHead head, final long nowMs) {
        restoredAtMs = nowMs;
        removed.restore(head.removals(), head.lastVersion());
    }

    long count() {
        return count;
    }

    /** Bytes of the values of these replicas. */
    long used() {
        return used;
    }

    private void removed(final ObjectEntry entry, final Replica replica) {
        count--;
        used -= entry.record().size();
        if (replica.descriptor() instanceof ReplicaDescriptor.LocalDisk local && !isGone(replica)) {
            disks.get(local.clientId()).used -= entry.record().size();
        }
    }

    /** Which share of a client's disk is free, as far as values take it; 0 for one that is full, or not there. */
    double freeRatio(final UUID clientId) {
        final Disk disk = disks.get(clientId);
        return disk == null || disk.used >= disk.capacity ? 0 : 1 - (double) disk.used / disk.capacity;
    }

    long capacity() {
        return disks.values().stream().mapToLong(disk -> disk.capacity).sum();
    }

    long evictions() {
        return evictions;
    }

    long promotions() {
        return promotions;
    }

    private void add(final ObjectEntry entry, final UUID clientId, final long checksum) {
        final Disk disk = disks.get(clientId);
        catalogue.replace(entry, entry.record().withChecksum(checksum));
        catalogue.addReplica(entry, new Replica(catalogue.nextReplicaId(), ReplicaStatus.COMPLETE,
            new ReplicaDescriptor.LocalDisk(clientId, entry.record().size(), disk.endpoint)));
        // What was to go is on the disk anew; its owner removes what it was told before it stores anything.
        disk.drops.cancel(new StoredVersion(entry.key(), entry.record().version()));
        count++;
        used += entry.record().size();
        disk.used += entry.record().size();
    }

    /** The first replica on a disk that is not gone, or null. */
    Replica first(final ObjectEntry entry) {
        for (final Replica replica : entry.record().replicas()) {
            if (replica.type() == ReplicaType.LOCAL_DISK && !isGone(replica)) {
                return replica;
            }
        }
        return null;
    }

    /** The replica on a client's disk, or null; one that is gone and not swept yet does not count. */
    Replica own(final ObjectEntry entry, final UUID clientId) {
        for (final Replica replica : entry.record().replicas()) {
            if (replica.descriptor() instanceof ReplicaDescriptor.LocalDisk disk && disk.clientId().equals(clientId)
                && !isGone(replica)) {
                return replica;
            }
        }
        return null;
    }
}
