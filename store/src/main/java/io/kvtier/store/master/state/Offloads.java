package io.kvtier.store.master.state;

import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.OffloadTask;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Offload tasks: a mailbox for each client with a disk, and what it has fetched and not yet answered.
 *
 * <p>A task's memory replica is held from the moment it is queued until it is ended; every way out of here gives the
 * replica back to the caller, who releases that hold exactly once.
 */
final class Offloads {
    private final Map<UUID, Mailbox> mailboxes = new HashMap<>();
    private final Map<Long, MemoryReplica> fetched = new HashMap<>();
    private final long retryMs;
    private long pendingBytes;
    private long ended;
    private long failed;

    private static final class Mailbox {
        private final ArrayDeque<MemoryReplica> queue = new ArrayDeque<>();
        private long failedUntilMs;
    }

    Offloads(final long retryMs) {
        this.retryMs = retryMs;
    }

    /** A client's disk takes tasks from now on. */
    void mount(final UUID clientId) {
        mailboxes.putIfAbsent(clientId, new Mailbox());
    }

    /** Whether the owner of a replica's segment has a disk that takes it now. */
    boolean accepts(final MemoryReplica replica, final long nowMs) {
        final Mailbox mailbox = mailboxes.get(replica.segment().clientId());
        return mailbox != null && nowMs >= mailbox.failedUntilMs && !replica.isRefusedByDisk();
    }

    /** Queues a replica that {@link #accepts} said yes to, and that the caller has just held for this. */
    void queue(final MemoryReplica replica) {
        replica.offloadStarted();
        pendingBytes += replica.allocated();
        mailboxes.get(replica.segment().clientId()).queue.add(replica);
    }

    /** Next tasks of a client. Replicas whose object is gone meanwhile come back in {@code orphans} instead. */
    List<OffloadTask> fetch(final UUID clientId, final long maxBytes, final List<MemoryReplica> orphans) {
        final Mailbox mailbox = mailboxes.get(clientId);
        final List<OffloadTask> tasks = new ArrayList<>();
        long bytes = 0;
        while (mailbox != null && !mailbox.queue.isEmpty()) {
            final MemoryReplica next = mailbox.queue.peek();
            if (!tasks.isEmpty() && bytes + next.allocated() > maxBytes) {
                break;
            }
            mailbox.queue.remove();
            if (next.owner() == null) {
                settle(next);
                orphans.add(next);
                continue;
            }
            bytes += next.allocated();
            fetched.put(next.id(), next);
            final ObjectRecord object = next.owner().record();
            tasks.add(new OffloadTask(object.key(), object.version(), next.id(), next.descriptor()));
        }
        return tasks;
    }

    /** Ends a fetched task; null when it is not known (any more). */
    MemoryReplica end(final UUID clientId, final long replicaId, final OffloadResult result, final long nowMs) {
        final MemoryReplica replica = fetched.remove(replicaId);
        if (replica == null) {
            return null;
        }
        settle(replica);
        if (result == OffloadResult.STORED) {
            ended++;
        } else if (result != OffloadResult.OBSOLETE) {
            failed++;
        }
        if (result == OffloadResult.VALUE_REFUSED) {
            replica.refuseByDisk();
        } else if (result == OffloadResult.DISK_FAILED) {
            mailboxes.get(clientId).failedUntilMs = nowMs + retryMs;
        }
        return replica;
    }

    /** Bytes that will be free when what is pending has ended. */
    long pendingBytes() {
        return pendingBytes;
    }

    long pending() {
        return fetched.size() + mailboxes.values().stream().mapToLong(mailbox -> mailbox.queue.size()).sum();
    }

    long ended() {
        return ended;
    }

    long failed() {
        return failed;
    }

    private void settle(final MemoryReplica replica) {
        replica.offloadEnded();
        pendingBytes -= replica.allocated();
    }
}
