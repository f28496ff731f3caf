package io.kvtier.store.master.state;

import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.snapshot.SavedObject;
import io.kvtier.store.snapshot.SnapshotSource.Slice;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Predicate;

/**
 * Copies of all objects as they were at one moment, made in parts while commands go on.
 *
 * <p>A walk over the buckets of the catalogue copies what it meets; what is changed before the walk has come to it is
 * copied first. So whoever changes anything that a {@link SavedObject} has of an entry calls {@link #before}, and then
 * changes it. An entry that was copied ahead, or that was not there at that moment, is remembered until the walk has
 * passed its bucket. While no snapshot is being taken a change costs one comparison, and an entry no memory.
 */
final class ObjectCopies {
    /** The walk is over, or has not begun. */
    private static final int NONE = Integer.MAX_VALUE;

    private ObjectCatalogue catalogue;
    private Predicate<Replica> there;
    private long beganMs;
    /** The next bucket of the walk. */
    private int bucket = NONE;
    private boolean open;
    /** Entries of buckets to come that the walk must pass over. */
    private final Set<ObjectEntry> passed = new HashSet<>();
    private List<SavedObject> ahead = new ArrayList<>();

    /** Begins; replicas that are not {@code there} are left out. */
    void begin(final ObjectCatalogue of, final Predicate<Replica> isThere, final long nowMs) {
        if (open) {
            throw new IllegalStateException("a snapshot is being taken already");
        }
        open = true;
        catalogue = of;
        there = isThere;
        beganMs = nowMs;
        bucket = 0;
    }

    /** An entry is about to change. */
    void before(final ObjectEntry entry) {
        if (bucket == NONE || ObjectCatalogue.bucketOf(entry.key()) < bucket) {
            return;
        }
        // One that is not in the catalogue (any more, or yet) was copied before it left, or cannot be read.
        if (catalogue.find(entry.key()) == entry && passed.add(entry)) {
            copy(entry, ahead);
        }
    }

    /** An entry has left the catalogue, so that the walk does not come to it; {@link #before} has copied it. */
    void removed(final ObjectEntry entry) {
        if (bucket != NONE) {
            passed.remove(entry);
        }
    }

    /** An entry is new. */
    void added(final ObjectEntry entry) {
        if (bucket != NONE && ObjectCatalogue.bucketOf(entry.key()) >= bucket) {
            passed.add(entry);
        }
    }

    /** How many entries are remembered: at most those that are in the catalogue. */
    int passed() {
        return passed.size();
    }

    /** The next part. */
    Slice next(final int most) {
        final List<SavedObject> part = ahead;
        ahead = new ArrayList<>();
        int looked = part.size();
        while (looked < most && bucket < ObjectCatalogue.BUCKETS) {
            // An empty bucket costs something too.
            looked++;
            for (final ObjectEntry entry : catalogue.bucket(bucket)) {
                looked++;
                if (passed.isEmpty() || !passed.remove(entry)) {
                    copy(entry, part);
                }
            }
            bucket++;
        }
        if (bucket == ObjectCatalogue.BUCKETS) {
            bucket = NONE;
            passed.clear();
        }
        return new Slice(part, bucket == NONE);
    }

    private void copy(final ObjectEntry entry, final List<SavedObject> into) {
        if (!entry.isReadable()) {
            return;
        }
        final ObjectRecord object = entry.record();
        final List<Replica> replicas = there == null ? object.replicas()
            : object.replicas().stream().filter(there).toList();
        if (replicas.isEmpty()) {
            return;
        }
        into.add(new SavedObject(entry.key(), object.version(), object.size(), object.checksummed(),
            object.checksummed() ? object.checksum() : 0, object.dataType(), object.writer(), entry.isHardPinned(),
            entry.group() == null ? "" : entry.group().name(), Math.max(0, entry.softPinUntilMs() - beganMs),
            replicas));
    }

    /** Ends it, wherever it is. */
    void end() {
        open = false;
        bucket = NONE;
        passed.clear();
        ahead = new ArrayList<>();
        catalogue = null;
        there = null;
    }

    /** Where replicas lie no more that still stand in records until they are swept. */
    record Gone(Map<Object, Long> places, Map<UUID, Long> disks) {
        boolean isEmpty() {
            return places.isEmpty() && disks.isEmpty();
        }

        boolean isThere(final Replica replica) {
            final Long last = switch (replica.descriptor()) {
                case ReplicaDescriptor.Memory memory -> places.get(memory.segment().segmentId());
                case ReplicaDescriptor.Nof nof -> places.get(nof.namespace());
                case ReplicaDescriptor.Gds gds ->
                    places.get(new FilePlace(gds.ownerClientId(), gds.storageId(), gds.storageGeneration()));
                case ReplicaDescriptor.LocalDisk disk -> disks.get(disk.clientId());
                // Nobody owns those, and nothing sweeps them.
                case ReplicaDescriptor.DistributedDisk ignored -> null;
                case ReplicaDescriptor.Disk ignored -> null;
                case ReplicaDescriptor.Unknown ignored -> null;
            };
            return last == null || replica.id() > last;
        }
    }

    /** A file for GDS replicas. */
    record FilePlace(UUID owner, UUID storageId, long generation) {
    }
}
