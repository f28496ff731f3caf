package io.kvtier.store.master.state;

import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.replica.Replica;
import java.util.ArrayList;
import java.util.List;

/** A put that has been started and not yet ended; owns the replicas that its writer fills. */
final class PendingWrite {
    private final ObjectCommand.PutStart command;
    private final ObjectEntry entry;
    private final long version;
    private final long startMs;
    private final List<PlacedReplica> replicas;
    private boolean discarded;

    PendingWrite(final ObjectCommand.PutStart command, final ObjectEntry entry, final long version, final long startMs,
        final List<PlacedReplica> replicas) {
        this.command = command;
        this.entry = entry;
        this.version = version;
        this.startMs = startMs;
        this.replicas = new ArrayList<>(replicas);
    }

    ObjectCommand.PutStart command() {
        return command;
    }

    ObjectEntry entry() {
        return entry;
    }

    long version() {
        return version;
    }

    long startMs() {
        return startMs;
    }

    /** Whether another write has taken its place; its writer may not know that yet. */
    boolean isDiscarded() {
        return discarded;
    }

    void discard() {
        discarded = true;
    }

    /** Those that are still being written. */
    List<PlacedReplica> replicas() {
        return replicas;
    }

    /** Bytes of what is being written on a medium. */
    long bytes(final Medium medium) {
        long bytes = 0;
        for (final PlacedReplica replica : replicas) {
            bytes += replica.segment().medium() == medium ? replica.size() : 0;
        }
        return bytes;
    }

    List<Replica> view() {
        return replicas.stream().map(PlacedReplica::view).toList();
    }

    /** The one in the writer's own file; null when there is none. */
    PlacedReplica gds() {
        for (final PlacedReplica replica : replicas) {
            if (replica.segment().medium() == Medium.GDS) {
                return replica;
            }
        }
        return null;
    }

    private static Scope scopeOf(final PlacedReplica replica) {
        return switch (replica.segment().medium()) {
            case MEMORY -> Scope.MEMORY;
            case NOF -> Scope.NOF;
            case GDS -> Scope.GDS;
            case DISTRIBUTED_DISK -> throw new IllegalStateException("a put writes to no shared file");
        };
    }

    /** Takes the replicas of a scope out. */
    List<PlacedReplica> take(final Scope scope) {
        final List<PlacedReplica> taken = new ArrayList<>(replicas.size());
        for (final PlacedReplica replica : replicas) {
            if (scope == Scope.ALL || scope == scopeOf(replica)) {
                taken.add(replica);
            }
        }
        replicas.removeAll(taken);
        return taken;
    }
}
