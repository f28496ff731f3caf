package io.kvtier.store.master.state;

import io.kvtier.store.protocol.TaskCommand.Kind;
import io.kvtier.store.replica.Replica;
import java.util.List;
import java.util.UUID;

/** A copy or move that has been started and not yet ended; owns the replicas that are filled, and holds the source. */
final class Replication {
    private final UUID clientId;
    private final ObjectEntry entry;
    private final Kind kind;
    private final PlacedReplica source;
    private final List<PlacedReplica> targets;
    private final PlacedReplica existing;
    private final long startMs;
    private boolean targetLost;

    /**
     * A replication.
     *
     * @param existing for a move to where the object is already: the replica that is there; null otherwise.
     */
    Replication(final UUID clientId, final ObjectEntry entry, final Kind kind, final PlacedReplica source,
        final List<PlacedReplica> targets, final PlacedReplica existing, final long startMs) {
        this.clientId = clientId;
        this.entry = entry;
        this.kind = kind;
        this.source = source;
        this.targets = targets;
        this.existing = existing;
        this.startMs = startMs;
    }

    UUID clientId() {
        return clientId;
    }

    ObjectEntry entry() {
        return entry;
    }

    Kind kind() {
        return kind;
    }

    PlacedReplica source() {
        return source;
    }

    /** Those that are being filled. */
    List<PlacedReplica> targets() {
        return targets;
    }

    List<Replica> view() {
        return targets.stream().map(PlacedReplica::view).toList();
    }

    long startMs() {
        return startMs;
    }

    /** A target's segment is gone. */
    void lose(final PlacedReplica target) {
        targets.remove(target);
        targetLost = true;
    }

    /** Whether the source was there all the time, and all targets still are. */
    boolean isIntact() {
        return !targetLost && isThere(source) && (existing == null || isThere(existing))
            && targets.stream().allMatch(this::isThere);
    }

    private boolean isThere(final PlacedReplica replica) {
        return replica.owner() == entry && replica.segment().isReadable();
    }
}
