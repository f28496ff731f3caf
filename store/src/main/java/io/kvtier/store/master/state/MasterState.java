package io.kvtier.store.master.state;

import io.kvtier.store.DataType;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.RemoveReply;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import java.util.ArrayList;
import java.util.List;

/**
 * The master's state machine: gives each command to the owners of the state that it concerns.
 *
 * <p><b>Threading:</b> one command at a time. Time never goes back from one command to the next. <b>Lifetime:</b>
 * closing frees the tables of the allocators.
 */
public final class MasterState implements AutoCloseable {
    private final MasterSettings settings;
    private final ObjectCatalogue catalogue = new ObjectCatalogue();
    private final Segments segments = new Segments();
    private final Offloads offloads;
    private final MemoryTier memory;
    private final DiskReplicas disk;

    /**
     * An empty state.
     *
     * @param settings what it is told once.
     * @param effects  called while a command is applied.
     */
    public MasterState(final MasterSettings settings, final Effects effects) {
        this.settings = settings;
        offloads = new Offloads(settings.diskRetryMs());
        memory = new MemoryTier(settings, catalogue, segments, offloads, effects);
        disk = new DiskReplicas(catalogue);
    }

    /**
     * Applies a command.
     *
     * @param <R>     the answer's type.
     * @param command what happens.
     * @param nowMs   when, in milliseconds of any clock that does not go back.
     * @return the answer.
     */
    @SuppressWarnings("unchecked") // Each case answers with the type that its command names.
    public <R> R apply(final Command<R> command, final long nowMs) {
        return (R) switch (command) {
            case ObjectCommand.ReadStart read -> readStart(read, nowMs);
            case ObjectCommand.ReadDone done -> readDone(done, nowMs);
            case ObjectCommand.PutStart put -> putStart(put, nowMs);
            case ObjectCommand.PutEnd put -> putEnd(put, nowMs);
            case ObjectCommand.PutRevoke put -> putRevoke(put, nowMs);
            case ObjectCommand.Exists exists -> exists(exists, nowMs);
            case ObjectCommand.Query query -> query(query);
            case ObjectCommand.Remove remove -> remove(remove, nowMs);
            case DiskCommand.FetchOffloads fetch -> fetchOffloads(fetch, nowMs);
            case DiskCommand.OffloadDone done -> offloadDone(done, nowMs);
            case DiskCommand.PromotionStart start -> promotionStart(start, nowMs);
            case DiskCommand.PromotionEnd end -> promotionEnd(end, nowMs);
            case ObjectCommand.ReplicaUnreadable unreadable -> unreadable(unreadable);
            case DiskCommand.EvictDisk evict -> disk.evict(evict, nowMs);
            case DiskCommand.AdoptDisk adopt -> disk.adopt(adopt);
            case SegmentCommand.Mount mount -> ack(segments.mount(mount.clientId(), mount.spec()));
            case DiskCommand.MountDisk mount -> {
                offloads.mount(mount.clientId());
                yield Ack.OK;
            }
            case AdminCommand.Statistics ignored -> statistics();
            default -> throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_MODE, "no " + command);
        };
    }

    @Override
    public void close() {
        segments.close();
    }

    private PutStartReply putStart(final ObjectCommand.PutStart put, final long nowMs) {
        final ObjectEntry known = catalogue.find(put.key());
        if (known != null) {
            return new PutStartReply.Taken(known.record().isReadable() ? PutOutcome.ALREADY_EXISTS
                : PutOutcome.BEING_WRITTEN);
        }
        if (put.size() > segments.largestSegment()) {
            return new PutStartReply.TooLarge(segments.largestSegment());
        }
        final ObjectEntry entry = catalogue.add(put.key(), catalogue.nextVersion(), put.size());
        final MemoryReplica replica = memory.place(entry, put.size(), nowMs);
        if (replica == null) {
            catalogue.remove(entry);
            return new PutStartReply.NoSpace(memory.mayComeFree());
        }
        return new PutStartReply.Started(entry.record().version(), List.of(replica.writing()));
    }

    private Ack putEnd(final ObjectCommand.PutEnd put, final long nowMs) {
        final ObjectEntry entry = catalogue.find(put.key(), put.version());
        if (entry == null || entry.memory() == null || entry.record().isReadable()) {
            return Ack.STALE;
        }
        memory.completed(entry.memory(), nowMs);
        return Ack.OK;
    }

    private Ack putRevoke(final ObjectCommand.PutRevoke put, final long nowMs) {
        final ObjectEntry entry = catalogue.find(put.key(), put.version());
        if (entry == null || entry.memory() == null || entry.record().isReadable()) {
            return Ack.STALE;
        }
        abandon(entry.memory(), nowMs);
        return Ack.OK;
    }

    private ReadReply readStart(final ObjectCommand.ReadStart read, final long nowMs) {
        final ObjectEntry entry = catalogue.find(read.key());
        if (entry == null || !entry.record().isReadable()) {
            return ReadReply.NOT_FOUND;
        }
        entry.lease(nowMs + settings.leaseMs());
        final MemoryReplica replica = entry.memory();
        if (replica == null || !replica.isComplete()) {
            return reply(entry.record(), 0);
        }
        replica.used();
        memory.hold(replica);
        return reply(entry.record(), replica.id());
    }

    private Ack readDone(final ObjectCommand.ReadDone done, final long nowMs) {
        final MemoryReplica replica = memory.heldReplica(done.key(), done.replicaId());
        if (replica == null) {
            return Ack.STALE;
        }
        memory.release(replica, nowMs);
        return Ack.OK;
    }

    private Boolean exists(final ObjectCommand.Exists exists, final long nowMs) {
        final ObjectEntry entry = catalogue.find(exists.key());
        if (entry == null || !entry.record().isReadable()) {
            return false;
        }
        entry.lease(nowMs + settings.leaseMs());
        if (entry.memory() != null && entry.memory().isComplete()) {
            memory.used(entry.memory(), nowMs);
        }
        return true;
    }

    private ReadReply query(final ObjectCommand.Query query) {
        final ObjectEntry entry = catalogue.find(query.key());
        return entry == null || !entry.record().isReadable() ? ReadReply.NOT_FOUND : reply(entry.record(), 0);
    }

    private RemoveReply remove(final ObjectCommand.Remove remove, final long nowMs) {
        final ObjectEntry entry = catalogue.find(remove.key());
        if (entry == null) {
            return new RemoveReply(RemoveOutcome.NOT_FOUND, 0);
        }
        if (!entry.record().isReadable()) {
            return new RemoveReply(RemoveOutcome.BEING_WRITTEN, 0);
        }
        if (!remove.force() && entry.isLeased(nowMs)) {
            return new RemoveReply(RemoveOutcome.LEASED, 0);
        }
        final long version = entry.record().version();
        catalogue.remove(entry);
        disk.forget(entry);
        if (entry.memory() != null) {
            memory.drop(entry.memory());
        }
        return new RemoveReply(RemoveOutcome.REMOVED, version);
    }

    private List<OffloadTask> fetchOffloads(final DiskCommand.FetchOffloads fetch, final long nowMs) {
        final List<MemoryReplica> orphans = new ArrayList<>();
        final List<OffloadTask> tasks = offloads.fetch(fetch.clientId(), fetch.maxBytes(), orphans);
        orphans.forEach(orphan -> memory.release(orphan, nowMs));
        return tasks;
    }

    private Ack offloadDone(final DiskCommand.OffloadDone done, final long nowMs) {
        final MemoryReplica replica = offloads.end(done.clientId(), done.task().replicaId(), done.result(), nowMs);
        if (replica == null) {
            return Ack.STALE;
        }
        final ObjectEntry entry = replica.owner();
        final boolean stored = entry != null && done.result() == DiskCommand.OffloadResult.STORED;
        if (stored) {
            disk.stored(entry, done.clientId(), done.checksum());
        }
        memory.offloadEnded(replica, stored, nowMs);
        return ack(stored || entry != null);
    }

    private PromotionReply promotionStart(final DiskCommand.PromotionStart start, final long nowMs) {
        final ObjectEntry entry = catalogue.find(start.key(), start.version());
        if (entry == null || entry.memory() != null || !entry.record().isReadable()) {
            return PromotionReply.DECLINED;
        }
        final MemoryReplica replica = memory.place(entry, entry.record().size(), nowMs);
        return replica == null ? PromotionReply.DECLINED : new PromotionReply(replica.id(), replica.descriptor());
    }

    private Ack promotionEnd(final DiskCommand.PromotionEnd end, final long nowMs) {
        final MemoryReplica replica = memory.heldReplica(end.key(), end.replicaId());
        if (replica == null || replica.isComplete()) {
            return Ack.STALE;
        }
        if (replica.owner() == null) {
            memory.release(replica, nowMs);
            return Ack.STALE;
        }
        if (end.success()) {
            disk.promoted();
            memory.completed(replica, nowMs);
        } else {
            abandon(replica, nowMs);
        }
        return Ack.OK;
    }

    private Ack unreadable(final ObjectCommand.ReplicaUnreadable unreadable) {
        final ObjectEntry entry = catalogue.find(unreadable.key(), unreadable.version());
        return ack(entry != null && disk.drop(entry, unreadable.replicaId()));
    }

    /** Ends a write that will not be completed: the writer's hold and the replica go together. */
    private void abandon(final MemoryReplica replica, final long nowMs) {
        memory.drop(replica);
        memory.release(replica, nowMs);
    }

    private MasterStats statistics() {
        return new MasterStats(catalogue.size(), segments.capacity(), segments.used(), segments.replicas(),
            memory.held(), memory.evictions(), memory.evictionsWithoutCopy(), disk.count(), disk.evictions(),
            offloads.ended(), offloads.failed(), offloads.pending(), disk.promotions());
    }

    private ReadReply reply(final ObjectRecord object, final long held) {
        return new ReadReply(object.version(), object.size(), object.replicas(), held, object.checksummed(),
            object.checksum(), settings.leaseMs(), DataType.UNKNOWN);
    }

    private static Ack ack(final boolean done) {
        return done ? Ack.OK : Ack.STALE;
    }
}
