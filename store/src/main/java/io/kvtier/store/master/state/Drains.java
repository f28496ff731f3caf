package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.Status;
import io.kvtier.store.protocol.TaskCommand;
import io.kvtier.store.protocol.TaskCommand.DrainInfo;
import io.kvtier.store.protocol.TaskCommand.DrainStatus;
import io.kvtier.store.protocol.TaskCommand.Kind;
import io.kvtier.store.protocol.TaskCommand.TaskStatus;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;

/**
 * Segments that are being emptied: every few milliseconds a few more of their replicas are given to their owners as
 * moves.
 *
 * <p>Whether a replica has been moved is judged by whether it is still there, and only counted by what the client said.
 * A drain ends when its segments hold nothing at all, ranges that rest included, or nothing but replicas that have
 * failed too often.
 */
final class Drains {
    /** Moves of one drain that are under way or wait. */
    static final int ACTIVE = 64;
    /** Replicas that one drain looks at in one part. */
    static final int LOOKS = 1024;
    /** From one part to the next. */
    private static final long PACE_MS = 10;
    /** What could not be moved is tried again after that. */
    static final long RETRY_MS = 500;

    private final MasterSettings.Tasks limits;
    private final Tiers tiers;
    private final Tasks tasks;
    private final Effects effects;
    private final Map<Long, Drain> running = new LinkedHashMap<>();
    private final Map<Long, Drain> finished = new LinkedHashMap<>();
    private long lastId;
    private long nextMs;

    Drains(final MasterSettings.Tasks limits, final Tiers tiers, final Tasks tasks, final Effects effects) {
        this.limits = limits;
        this.tiers = tiers;
        this.tasks = tasks;
        this.effects = effects;
    }

    long create(final TaskCommand.CreateDrain create) {
        final List<String> names = List.copyOf(new LinkedHashSet<>(create.segments()));
        if (names.isEmpty()) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "a drain of no segments; name at least one");
        }
        final List<LentSegment> segments = new ArrayList<>();
        for (final String name : names) {
            segments.addAll(drainable(name));
        }
        segments.forEach(segment -> segment.status(Status.DRAINING));
        final Drain drain = new Drain(++lastId, names, segments);
        running.put(drain.id(), drain);
        return drain.id();
    }

    private List<LentSegment> drainable(final String name) {
        final List<LentSegment> segments = tiers.segments().named(name, Medium.MEMORY);
        if (segments.isEmpty()) {
            throw new StoreException(ErrorCode.SEGMENT_NOT_FOUND, "no memory segment '" + name + "' is mounted");
        }
        for (final LentSegment segment : segments) {
            if (segment.status() != Status.OK) {
                throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "segment '" + name + "' is "
                    + segment.status() + "; only one that is OK can be drained");
            }
        }
        return segments;
    }

    long lastId() {
        return lastId;
    }

    /** All that are known, for a snapshot. */
    List<DrainInfo> save() {
        final List<DrainInfo> saved = new ArrayList<>(finished.size() + running.size());
        finished.values().forEach(drain -> saved.add(drain.info()));
        running.values().forEach(drain -> saved.add(drain.info()));
        return saved;
    }

    /** Takes what a snapshot has; none of them runs any more. */
    void restore(final long last, final List<DrainInfo> saved) {
        lastId = last;
        saved.forEach(info -> remember(Drain.restored(info)));
    }

    private void remember(final Drain drain) {
        finished.put(drain.id(), drain);
        if (finished.size() > limits.finished()) {
            finished.remove(finished.keySet().iterator().next());
        }
    }

    DrainInfo query(final long drainId) {
        return find(drainId).info();
    }

    private Drain find(final long drainId) {
        final Drain drain = running.getOrDefault(drainId, finished.get(drainId));
        if (drain == null) {
            throw new StoreException(ErrorCode.JOB_NOT_FOUND, "there is no drain " + drainId
                + ", or it ended too long ago to be remembered");
        }
        return drain;
    }

    /**
     * Gives a drain up, or takes a successful one back. Moves that wait are withdrawn. While some are under way it is
     * refused, but no others are made, and when those have ended the drain is given up.
     */
    Ack cancel(final long drainId, final long nowMs) {
        final Drain drain = find(drainId);
        switch (drain.status()) {
            case RUNNING -> {
                drain.cancel();
                drain.moves().forEach(move -> tasks.withdraw(move.taskId()));
                settle(drain, nowMs);
                if (drain.active() > 0) {
                    throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "drain " + drainId + " has "
                        + drain.active() + " moves under way; it is given up when they have ended");
                }
                finish(drain, DrainStatus.CANCELED);
                return Ack.OK;
            }
            case SUCCEEDED -> {
                finish(drain, DrainStatus.CANCELED);
                return Ack.OK;
            }
            case CANCELED -> {
                return Ack.OK;
            }
            default -> {
                return Ack.STALE;
            }
        }
    }

    /** Does a part of each drain, if it is time for one. */
    void advance(final long nowMs) {
        if (running.isEmpty() || nowMs < nextMs) {
            return;
        }
        nextMs = nowMs + PACE_MS;
        for (final Drain drain : List.copyOf(running.values())) {
            settle(drain, nowMs);
            if (drain.isCanceling()) {
                if (drain.active() == 0) {
                    finish(drain, DrainStatus.CANCELED);
                }
            } else if (walk(drain, nowMs) && drain.active() == 0 && drain.isStuck()) {
                finish(drain, drain.isEmpty() ? DrainStatus.SUCCEEDED : DrainStatus.FAILED);
            }
        }
    }

    /** Takes note of moves that have ended. */
    private void settle(final Drain drain, final long nowMs) {
        for (final Drain.Move move : drain.moves()) {
            final TaskStatus status = tasks.status(move.taskId());
            if (status == TaskStatus.PENDING || status == TaskStatus.PROCESSING) {
                continue;
            }
            final boolean left = move.hasLeft();
            drain.ended(move, left && status != TaskStatus.FAILED);
            if (!left && !drain.isCanceling()) {
                drain.failedOnce(move.replica(), limits.tries(), nowMs + RETRY_MS);
            }
        }
    }

    /** Goes on with the walk over a drain's replicas; true when it has come to its end. */
    private boolean walk(final Drain drain, final long nowMs) {
        for (int i = 0; i < LOOKS && drain.active() < ACTIVE && !tasks.isFull(); i++) {
            final PlacedReplica replica = drain.next();
            if (replica == null) {
                return true;
            }
            if (!consider(drain, replica, nowMs)) {
                return false;
            }
        }
        return false;
    }

    /** Moves a replica if it can be moved now; false when room had to be made, which is enough for one part. */
    private boolean consider(final Drain drain, final PlacedReplica replica, final long nowMs) {
        final Drain.Tries tries = drain.tries(replica);
        if (tries != null && tries.count() >= limits.tries() && replica.owner() != null) {
            drain.stuck();
            return true;
        }
        if (!isMovable(replica) || drain.isMoving(replica) || tries != null && nowMs < tries.againMs()) {
            // Either it goes by itself, or it is looked at again.
            return true;
        }
        final LentSegment target = target(replica, nowMs);
        if (target == null) {
            drain.failedOnce(replica, limits.tries(), nowMs + RETRY_MS);
            return !tiers.memory().makeRoom(replica.size(), nowMs);
        }
        final TaskCommand.CreateTask move = new TaskCommand.CreateTask(Kind.MOVE, replica.owner().key(),
            replica.segment().name(), List.of(target.name()));
        drain.started(replica, tasks.add(move, replica.segment().clientId(), nowMs));
        return true;
    }

    private static boolean isMovable(final PlacedReplica replica) {
        final ObjectEntry entry = replica.owner();
        return entry != null && replica.isComplete() && replica.segment().isReadable() && entry.pending() == null
            && !entry.isReplicating();
    }

    /** Where to move a replica; where the object has another one, when it has one everywhere: then this one goes. */
    private LentSegment target(final PlacedReplica replica, final long nowMs) {
        final LentSegment emptiest = tiers.segments().emptiestFor(replica, nowMs);
        if (emptiest != null) {
            return emptiest;
        }
        for (PlacedReplica other = replica.owner().residency(Medium.MEMORY).first(); other != null;
            other = other.sibling()) {
            if (other.segment().isOpen(nowMs) && !other.segment().name().equals(replica.segment().name())) {
                return other.segment();
            }
        }
        return null;
    }

    private void finish(final Drain drain, final DrainStatus status) {
        drain.status(status);
        for (final LentSegment segment : drain.segments()) {
            if (segment.status() == Status.DRAINING || segment.status() == Status.DRAINED) {
                segment.status(status == DrainStatus.SUCCEEDED ? Status.DRAINED : Status.OK);
            }
        }
        if (status != DrainStatus.SUCCEEDED) {
            effects.spaceFreed();
        }
        running.remove(drain.id());
        remember(drain);
    }
}
