package io.kvtier.store.master.state;

import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.TaskCommand.DrainInfo;
import io.kvtier.store.protocol.TaskCommand.DrainStatus;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The emptying of some segments: a walk over what lies in them that begins again and again until nothing is left, or
 * nothing but what could not be moved.
 */
final class Drain {
    private final long id;
    private final List<String> names;
    private final List<LentSegment> segments;
    private DrainStatus status = DrainStatus.RUNNING;
    private boolean canceling;
    private long moved;
    private long failed;

    /** Tasks under way or waiting, one for each object: a second one would choose its target without the first. */
    private final Map<ObjectEntry, Move> moves = new LinkedHashMap<>();
    /** Replicas that could not be moved yet, or at all, by id; few, unless there is no room anywhere. */
    private final Map<Long, Tries> tries = new HashMap<>();

    // The walk.
    private int at;
    private PlacedReplica next;
    private boolean begun;
    private long seen;
    private long stuck;

    /**
     * A task that moves a replica of an object away from the segments of its name.
     *
     * @param before replicas that the object had in segments of that name.
     */
    record Move(ObjectEntry entry, PlacedReplica replica, long taskId, int before) {
        Move(final PlacedReplica replica, final long taskId) {
            this(replica.owner(), replica, taskId, count(replica.owner(), replica.segment().name()));
        }

        /** Whether one of them is gone, this one or another one. */
        boolean hasLeft() {
            return count(entry, replica.segment().name()) < before;
        }

        private static int count(final ObjectEntry entry, final String name) {
            final Residency memory = entry.residency(Medium.MEMORY);
            int count = 0;
            for (PlacedReplica at = memory == null ? null : memory.first(); at != null; at = at.sibling()) {
                count += at.segment().name().equals(name) ? 1 : 0;
            }
            return count;
        }
    }

    /** How often a replica could not be moved, and when it may be tried again. */
    record Tries(int count, long againMs) {
    }

    Drain(final long id, final List<String> names, final List<LentSegment> segments) {
        this.id = id;
        this.names = names;
        this.segments = segments;
    }

    /** One of a snapshot; what ran then has not succeeded: its segments come back as others, if at all. */
    static Drain restored(final DrainInfo info) {
        final Drain drain = new Drain(info.drainId(), info.segments(), List.of());
        drain.status = info.status() == DrainStatus.RUNNING ? DrainStatus.FAILED : info.status();
        drain.moved = info.moved();
        drain.failed = info.failed();
        return drain;
    }

    long id() {
        return id;
    }

    List<LentSegment> segments() {
        return segments;
    }

    DrainStatus status() {
        return status;
    }

    void status(final DrainStatus changed) {
        status = changed;
    }

    /** Whether it ends as soon as the moves under way have. */
    boolean isCanceling() {
        return canceling;
    }

    void cancel() {
        canceling = true;
    }

    DrainInfo info() {
        return new DrainInfo(id, names, status, moved, failed, moves.size());
    }

    List<Move> moves() {
        return new ArrayList<>(moves.values());
    }

    int active() {
        return moves.size();
    }

    boolean isMoving(final PlacedReplica replica) {
        return moves.containsKey(replica.owner());
    }

    void started(final PlacedReplica replica, final long taskId) {
        moves.put(replica.owner(), new Move(replica, taskId));
    }

    void ended(final Move move, final boolean success) {
        moves.remove(move.entry());
        if (success) {
            moved++;
            tries.remove(move.replica().id());
        }
    }

    /** Another try failed; the last one that is allowed makes the replica one that cannot be moved. */
    void failedOnce(final PlacedReplica replica, final int allowed, final long againMs) {
        final Tries before = tries.get(replica.id());
        final int count = before == null ? 1 : before.count() + 1;
        tries.put(replica.id(), new Tries(count, againMs));
        if (count == allowed) {
            failed++;
        }
    }

    /** How it went with a replica so far; null when it has not failed. */
    Tries tries(final PlacedReplica replica) {
        return tries.get(replica.id());
    }

    /** A walk has met a replica that cannot be moved. */
    void stuck() {
        stuck++;
    }

    /** Whether the walk that has just ended saw nothing. */
    boolean isEmpty() {
        return seen == 0;
    }

    /** Whether it saw nothing but what cannot be moved. */
    boolean isStuck() {
        return seen == stuck;
    }

    /** The next replica of the walk; null at its end, after which another one begins. */
    PlacedReplica next() {
        if (!begun || next != null && next.isGone()) {
            // What the walk had come to has been freed, and with it the way on.
            begun = true;
            at = 0;
            seen = 0;
            stuck = 0;
            next = first();
        }
        while (next == null && at < segments.size() - 1) {
            at++;
            next = first();
        }
        if (next == null) {
            begun = false;
            return null;
        }
        final PlacedReplica replica = next;
        next = replica.nextInSegment();
        seen++;
        return replica;
    }

    private PlacedReplica first() {
        return segments.get(at).isReadable() ? segments.get(at).first() : null;
    }
}
