package io.kvtier.store.master.state;

import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.replica.ReplicaType;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.LongPredicate;

/**
 * Offload tasks: a mailbox for each client that has a disk of its own, or writes to the files that all clients mount,
 * and what it has fetched and not yet answered. Who has both is sent to the shared files.
 *
 * <p>A task's memory replica is held from the moment it is queued until it is ended; every way out of here gives the
 * replica back to the caller, who releases that hold exactly once.
 */
final class Offloads {
    private final Map<UUID, Mailbox> mailboxes = new HashMap<>();
    /** What nobody has fetched, by replica, in the order in which it was queued: that of each mailbox too. */
    private final Map<Long, Queued> waiting = new LinkedHashMap<>();
    /** By replica, in the order in which they were fetched. */
    private final Map<Long, Fetched> fetched = new LinkedHashMap<>();
    private final long retryMs;
    private final long releaseMs;
    private final LongPredicate pagesOpen;
    private long pendingBytes;
    private long ended;
    private long failed;

    private static final class Mailbox {
        private final ArrayDeque<PlacedReplica> queue = new ArrayDeque<>();
        private final Set<Long> fetched = new LinkedHashSet<>();
        private boolean ownDisk;
        private boolean pages;
        private long failedUntilMs;

        private boolean has(final ReplicaType target) {
            return target == ReplicaType.DISTRIBUTED_DISK ? pages : ownDisk;
        }

        private void set(final ReplicaType target, final boolean there) {
            if (target == ReplicaType.DISTRIBUTED_DISK) {
                pages = there;
            } else {
                ownDisk = there;
            }
        }

        /** Where a value goes: the shared files have no place for one without bytes. Null for nowhere. */
        private ReplicaType target(final PlacedReplica replica) {
            return pages && replica.size() > 0 ? ReplicaType.DISTRIBUTED_DISK
                : ownDisk ? ReplicaType.LOCAL_DISK : null;
        }
    }

    private record Queued(PlacedReplica replica, long atMs) {
    }

    /** A task that was given to a client; the object may be gone meanwhile. */
    private record Fetched(UUID clientId, PlacedReplica replica, OffloadTask task, long atMs) {
    }

    /**
     * No tasks.
     *
     * @param retryMs   how long a disk that failed is sent nothing.
     * @param releaseMs how long a task may go without being fetched, and then without an answer.
     * @param pagesOpen whether the shared files take anything at that time: a value that finds no room there is not
     *                  tried again.
     */
    Offloads(final long retryMs, final long releaseMs, final LongPredicate pagesOpen) {
        this.retryMs = retryMs;
        this.releaseMs = releaseMs;
        this.pagesOpen = pagesOpen;
    }

    /** A client takes tasks of this kind from now on: LOCAL_DISK or DISTRIBUTED_DISK. */
    void mount(final UUID clientId, final ReplicaType target) {
        mailboxes.computeIfAbsent(clientId, id -> new Mailbox()).set(target, true);
    }

    /** Whether a client takes tasks of this kind. */
    boolean isMounted(final UUID clientId, final ReplicaType target) {
        final Mailbox mailbox = mailboxes.get(clientId);
        return mailbox != null && mailbox.has(target);
    }

    /** The replica of an object whose owner has a disk that takes it now; null when there is none. */
    PlacedReplica choose(final Residency residency, final long nowMs) {
        PlacedReplica replica = residency.first();
        while (replica != null && !accepts(replica, nowMs)) {
            replica = replica.sibling();
        }
        return replica;
    }

    /** The same, of owners who write it to the shared files. */
    PlacedReplica chooseForPages(final Residency residency, final long nowMs) {
        PlacedReplica replica = residency.first();
        while (replica != null && !(isMounted(replica.segment().clientId(), ReplicaType.DISTRIBUTED_DISK)
            && replica.size() > 0 && accepts(replica, nowMs))) {
            replica = replica.sibling();
        }
        return replica;
    }

    private boolean accepts(final PlacedReplica replica, final long nowMs) {
        final Mailbox mailbox = mailboxes.get(replica.segment().clientId());
        final ReplicaType target = mailbox == null ? null : mailbox.target(replica);
        return target != null && nowMs >= mailbox.failedUntilMs
            && (target != ReplicaType.DISTRIBUTED_DISK || pagesOpen.test(nowMs)) && !replica.isRefusedByDisk()
            && replica.segment().isReadable();
    }

    /**
     * Queues a replica that {@link #choose} gave, and that the caller has just held for this.
     *
     * @param stays whether it stays in memory when it has been copied, and so makes no room.
     */
    void queue(final PlacedReplica replica, final boolean stays, final long nowMs) {
        replica.offloadStarted(stays);
        pendingBytes += stays ? 0 : replica.allocated();
        waiting.put(replica.id(), new Queued(replica, nowMs));
        mailboxes.get(replica.segment().clientId()).queue.add(replica);
    }

    /**
     * A client takes no tasks of this kind any more; the replicas of those that it has come back, and so do those that
     * it was not given yet and that now go nowhere.
     */
    List<PlacedReplica> unmount(final UUID clientId, final ReplicaType target) {
        final Mailbox mailbox = mailboxes.get(clientId);
        final List<PlacedReplica> ended = new ArrayList<>();
        if (mailbox == null || !mailbox.has(target)) {
            return ended;
        }
        mailbox.set(target, false);
        for (final PlacedReplica queued : List.copyOf(mailbox.queue)) {
            if (mailbox.target(queued) == null) {
                mailbox.queue.remove(queued);
                waiting.remove(queued.id());
                ended.add(queued);
            }
        }
        for (final Long id : List.copyOf(mailbox.fetched)) {
            if (fetched.get(id).task().target() == target) {
                mailbox.fetched.remove(id);
                ended.add(fetched.remove(id).replica());
            }
        }
        ended.forEach(this::settle);
        if (!mailbox.ownDisk && !mailbox.pages) {
            mailboxes.remove(clientId);
        }
        return ended;
    }

    /**
     * Next tasks of a client, what it has not answered before all others: the answer that named them may be lost.
     * Replicas that nobody was given and whose object is gone meanwhile come back in {@code orphans} instead.
     */
    List<OffloadTask> fetch(final UUID clientId, final long maxBytes, final List<PlacedReplica> orphans,
        final long nowMs) {
        final Mailbox mailbox = mailboxes.get(clientId);
        final List<OffloadTask> tasks = new ArrayList<>();
        long bytes = mailbox == null ? 0 : again(mailbox, maxBytes, tasks, nowMs);
        while (mailbox != null && !mailbox.queue.isEmpty()) {
            final PlacedReplica next = mailbox.queue.peek();
            if (!tasks.isEmpty() && bytes + next.allocated() > maxBytes) {
                break;
            }
            mailbox.queue.remove();
            waiting.remove(next.id());
            if (next.owner() == null) {
                settle(next);
                orphans.add(next);
                continue;
            }
            bytes += next.allocated();
            mailbox.fetched.add(next.id());
            final ObjectEntry object = next.owner();
            final OffloadTask task =
                new OffloadTask(object.key(), object.record().version(), next.id(), next.memory(),
                    mailbox.target(next));
            fetched.put(next.id(), new Fetched(clientId, next, task, nowMs));
            tasks.add(task.withIdle(nowMs - object.usedMs()));
        }
        return tasks;
    }

    private long again(final Mailbox mailbox, final long maxBytes, final List<OffloadTask> tasks, final long nowMs) {
        long bytes = 0;
        for (final Long id : mailbox.fetched) {
            final Fetched given = fetched.get(id);
            bytes += given.replica().allocated();
            if (!tasks.isEmpty() && bytes > maxBytes) {
                break;
            }
            final ObjectEntry object = given.replica().owner();
            tasks.add(object == null ? given.task() : given.task().withIdle(nowMs - object.usedMs()));
        }
        return bytes;
    }

    /** Ends a fetched task; null when it is not known (any more). */
    PlacedReplica end(final UUID clientId, final OffloadTask task, final OffloadResult result, final long nowMs) {
        final Mailbox mailbox = mailboxes.get(clientId);
        final Fetched given = fetched.get(task.replicaId());
        if (mailbox == null || given == null || !given.task().equals(task)
            || !mailbox.fetched.remove(task.replicaId())) {
            return null;
        }
        final PlacedReplica replica = fetched.remove(task.replicaId()).replica();
        settle(replica);
        if (result == OffloadResult.STORED) {
            ended++;
        } else if (result != OffloadResult.OBSOLETE) {
            failed++;
        }
        if (result == OffloadResult.VALUE_REFUSED) {
            replica.refuseByDisk();
        } else if (result == OffloadResult.DISK_FAILED) {
            mailbox.failedUntilMs = nowMs + retryMs;
        }
        return replica;
    }

    /** Whether a client has a task that it fetched and that has not ended: the memory is held for it until then. */
    boolean isFetched(final UUID clientId, final long replicaId) {
        final Fetched given = fetched.get(replicaId);
        return given != null && given.clientId().equals(clientId);
    }

    /** Ends a fetched task whose value is in the shared files; null when it is not known (any more). */
    PlacedReplica endStored(final UUID clientId, final long replicaId, final OffloadResult result, final long nowMs) {
        final Fetched given = fetched.get(replicaId);
        return given == null || given.task().target() != ReplicaType.DISTRIBUTED_DISK ? null
            : end(clientId, given.task(), result, nowMs);
    }

    /** The next task that was not fetched or not answered in time, ended as failed; null when there is none. */
    PlacedReplica nextExpired(final long nowMs) {
        final PlacedReplica unanswered = nextUnanswered(nowMs);
        final PlacedReplica expired = unanswered == null ? nextUnfetched(nowMs) : unanswered;
        if (expired != null) {
            settle(expired);
            failed++;
        }
        return expired;
    }

    private PlacedReplica nextUnanswered(final long nowMs) {
        if (fetched.isEmpty()) {
            return null;
        }
        final Fetched oldest = fetched.values().iterator().next();
        if (nowMs - oldest.atMs() < releaseMs) {
            return null;
        }
        fetched.remove(oldest.replica().id());
        mailboxes.get(oldest.clientId()).fetched.remove(oldest.replica().id());
        return oldest.replica();
    }

    /** A client that is alive and fetches nothing has a disk that failed. */
    private PlacedReplica nextUnfetched(final long nowMs) {
        if (waiting.isEmpty()) {
            return null;
        }
        final Queued oldest = waiting.values().iterator().next();
        if (nowMs - oldest.atMs() < releaseMs) {
            return null;
        }
        waiting.remove(oldest.replica().id());
        final Mailbox mailbox = mailboxes.get(oldest.replica().segment().clientId());
        mailbox.queue.remove();
        mailbox.failedUntilMs = nowMs + retryMs;
        return oldest.replica();
    }

    /** Bytes that will be free when what is pending has ended. */
    long pendingBytes() {
        return pendingBytes;
    }

    long pending() {
        return fetched.size() + waiting.size();
    }

    long ended() {
        return ended;
    }

    long failed() {
        return failed;
    }

    private void settle(final PlacedReplica replica) {
        pendingBytes -= replica.isLeaving() ? replica.allocated() : 0;
        replica.offloadEnded();
    }
}
