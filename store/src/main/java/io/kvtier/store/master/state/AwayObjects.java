package io.kvtier.store.master.state;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.snapshot.SavedObject;
import io.kvtier.store.snapshot.SavedSegment;
import io.kvtier.store.snapshot.Snapshot;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * What a restored snapshot says of objects whose bytes are not known to be there (any more): nobody can read them, and
 * they take no room. An object comes back with its first replica, which whoever has the bytes offers; then the rest of
 * what the snapshot has of it (group, pins, type, writer) is taken from here.
 *
 * <p>Nothing is taken out of here but everything at once, when the time to come back is over: whether a version may
 * still come back is known from {@link RemovedVersions} and from the version that a key has now. So it is immutable,
 * and the next snapshot has it too, for the price of a reference. What lies in the shared files, or has a file for
 * itself, is not for the next snapshot: it is there from the beginning, as records of the catalogue, and its pages may
 * be another value's since; here is only what else the snapshot has of such an object. Replicas of types that this
 * version does not know stay beyond that time, so that a later version finds them in the next snapshot.
 */
final class AwayObjects {
    /** With the replicas that may come back. */
    private List<SavedObject> objects = List.of();
    /** Those with replicas of unknown types. */
    private List<SavedObject> unknown = List.of();
    private Map<ObjectKey, SavedObject> byKey = Map.of();
    private Map<UUID, Segment> segments = Map.of();
    private long untilMs = Long.MAX_VALUE;

    /** A replica that lay in a segment. */
    record Lying(SavedObject object, long replicaId, long offset) {
    }

    /** A segment of the snapshot and what lay in it, in the order of replica ids. */
    record Segment(SavedSegment saved, List<Lying> lying) {
        /** One in which nothing lay that could come back. */
        static final Segment NOTHING = new Segment(null, List.of());

        /** What lay there under an id; null when nothing did. */
        Lying find(final long replicaId) {
            int low = 0;
            int high = lying.size() - 1;
            while (low <= high) {
                final int middle = low + high >>> 1;
                final long id = lying.get(middle).replicaId();
                if (id == replicaId) {
                    return lying.get(middle);
                }
                if (id < replicaId) {
                    low = middle + 1;
                } else {
                    high = middle - 1;
                }
            }
            return null;
        }
    }

    /** Takes a snapshot; what is not back by then is forgotten. Takes its time, before the first command. */
    void restore(final Snapshot snapshot, final long until) {
        untilMs = until;
        objects = new ArrayList<>(snapshot.objects().size());
        byKey = HashMap.newHashMap(snapshot.objects().size());
        segments = new HashMap<>();
        snapshot.head().segments().forEach(segment -> segments.put(segment.spec().address().segmentId(),
            new Segment(segment, new ArrayList<>())));
        unknown = new ArrayList<>();
        for (final SavedObject object : snapshot.objects()) {
            byKey.put(object.key(), object);
            keep(object);
            final List<Replica> strange = new ArrayList<>();
            for (final Replica replica : object.replicas()) {
                if (replica.descriptor() instanceof ReplicaDescriptor.Memory memory) {
                    final Segment segment = segments.get(memory.segment().segmentId());
                    // Nobody could tell whether the bytes of one without a checksum are still its own.
                    if (segment != null && object.checksummed()) {
                        segment.lying().add(new Lying(object, replica.id(), memory.offset()));
                    }
                } else if (replica.descriptor() instanceof ReplicaDescriptor.Unknown) {
                    strange.add(replica);
                }
            }
            if (!strange.isEmpty()) {
                unknown.add(object.withReplicas(List.copyOf(strange)));
            }
        }
        segments.values().forEach(segment ->
            segment.lying().sort((a, b) -> Long.compare(a.replicaId(), b.replicaId())));
    }

    /** Keeps for the next snapshot what the state does not have at once. */
    private void keep(final SavedObject object) {
        final List<Replica> away = object.replicas().stream()
            .filter(replica -> replica.type() != ReplicaType.DISTRIBUTED_DISK && replica.type() != ReplicaType.DISK)
            .toList();
        if (away.size() == object.replicas().size()) {
            objects.add(object);
        } else if (!away.isEmpty()) {
            objects.add(object.withReplicas(away));
        }
    }

    /** The time is over. */
    void forget() {
        untilMs = Long.MAX_VALUE;
        objects = List.of();
        byKey = Map.of();
        segments = Map.of();
    }

    /** When all that is left is forgotten. */
    long untilMs() {
        return untilMs;
    }

    /** What the snapshot has of a version of an object; null when it has nothing, or the time is over. */
    SavedObject find(final ObjectKey key, final long version) {
        final SavedObject object = byKey.isEmpty() ? null : byKey.get(key);
        return object == null || object.version() != version ? null : object;
    }

    /** A segment that was lent when the snapshot was taken; null when it was not, or the time is over. */
    Segment segment(final UUID id) {
        return segments.get(id);
    }

    /** For the next snapshot. */
    List<SavedObject> save() {
        return objects.isEmpty() ? unknown : objects;
    }

    /** Segments of the snapshot in which something lay, for the next one. */
    List<SavedSegment> saveSegments() {
        return segments.values().stream().filter(segment -> !segment.lying().isEmpty()).map(Segment::saved).toList();
    }

    /** Objects of which something may come back, those among them that have. */
    long size() {
        return objects.size();
    }
}
