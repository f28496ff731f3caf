package io.kvtier.store.storage;

import io.kvtier.alloc.extent.ExtentAllocator;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.storage.ExtentEntry.State;
import io.kvtier.transport.Transfer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Which extent holds what, and how far that is: the one place where extents are allocated and freed.
 *
 * <pre>
 *              offered       accepted       commit
 *   RESERVED ──────────▶ OFFERED ─────▶ ACCEPTED ─────▶ COMMITTED ◀── adopted ── RECOVERED
 *      │  ▲  declined      │               │              ▲   │                    │
 *      │  └────────────────┴───────────────┘     complete,│   │ dropped, refused   │
 *      │ close             │ close         │ close   lost ▼   │                    │
 *      │                   └─────────────▶ UNSETTLED ─────┘   │                    │
 *      ▼                                    │ gone, dropped   ▼                    ▼
 *   DROPPED ◀───────────────────────────────┴─────────────────┴────────────────────┘
 *      │ no write, no lease, no record
 *      ▼
 *    free
 * </pre>
 *
 * <p><b>Who frees.</b> Everything that is given up becomes DROPPED, whoever gives it up, and {@link #freeIfLetGo} frees
 * it: no transfer into it is running, no lease is open, and no record in the index can name it after a crash. Each of
 * the three is looked at again when it may have ended: transfers by {@link #finishEndings}, at their end and by whoever
 * wants room, leases by {@link #release}, records by {@link #removed} once the removal is durable. All of it happens
 * under the one lock, so the last of them frees, and only one does. Whether a transfer runs is asked of the transfer
 * itself, which has ended before it tells anybody: who has waited for it finds free what only it had kept.
 *
 * <p><b>What is dropped early.</b> The master may drop a replica before this side has heard that it exists: its answer
 * was slow, or the extent was only being offered again. Ids are unique for ever, so a drop of an id that an extent does
 * not have (yet) is kept with the extent and counts when that id comes. The last few are kept; one that is forgotten
 * leaves an extent that the master does not know, and is told of when it is offered what is committed. An offer that
 * comes late, when another one was answered and its replica has gone, makes a replica of which nobody here ever hears;
 * ids grow, and the master has one replica in a place, so that the drop of a later one means what is committed there.
 *
 * <p><b>Lost writes.</b> The kernel tells of a write that it has lost to one sync, once. So after a sync that failed,
 * every value that was not durable by then is unsettled and not read any more, since the master, which counts it as
 * complete, has to hear of that; and every write that had begun by then never commits.
 *
 * <p><b>Threading:</b> thread-safe under one lock, which is never held across a call that blocks; the journal is told
 * of changes under it, and has a lock of its own behind it. <b>Lifetime:</b> owns the allocator. After {@link #close()}
 * nothing is reserved, acquired or freed.
 */
final class ExtentMap implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(ExtentMap.class.getName());

    private final ReentrantLock lock = new ReentrantLock();
    private final ExtentAllocator allocator;
    /** By offset. What is committed is in order of commit, the oldest first. */
    private final Map<Long, ExtentEntry> extents = new LinkedHashMap<>();
    private final ExtentEndings endings = new ExtentEndings();
    private final long[] counts = new long[State.values().length];
    private ExtentJournal journal = ExtentJournal.NONE;
    private Runnable whenRoom = () -> { };
    private long reservations;
    private long leases;
    private long deferredFrees;
    private long failedSyncs;
    private long used;
    private boolean closed;

    ExtentMap(final long capacity) {
        allocator = DataFile.extents(capacity);
    }

    /** Who is told what has to be written down, from now on. */
    void tell(final ExtentJournal who) {
        change(() -> journal = who);
    }

    /** Who is told, under the lock, that an extent is free, or can be given up from now on. */
    void tellRoom(final Runnable who) {
        change(() -> whenRoom = who);
    }

    /** Takes in what an index says, oldest first; of two values that overlap the younger stays. Returns what stayed. */
    List<StoredExtent> restore(final List<StoredExtent> found) {
        return ask(() -> {
            final List<StoredExtent> kept = new ArrayList<>();
            for (final StoredExtent value : found.reversed()) {
                if (allocator.markAllocated(value.extent().offset(), value.extent().bytes())) {
                    kept.add(value);
                } else {
                    LOG.log(System.Logger.Level.WARNING, "stored value {0} version {1} is outside the file, or older "
                        + "than another one in its place, and is left out", value.key(), value.version());
                }
            }
            Collections.reverse(kept);
            for (final StoredExtent value : kept) {
                put(value.key(), value.extent(), value.size(), State.RECOVERED).recover(value);
            }
            return kept;
        });
    }

    /** Null when there is no room. */
    ExtentEntry reserve(final ObjectKey key, final long size) {
        return ask(() -> {
            finishEndings();
            final long offset = closed ? ExtentAllocator.NO_SPACE : allocator.allocate(DataFile.extentBytes(size));
            return offset == ExtentAllocator.NO_SPACE ? null : put(key, Extent.of(offset, size), size, State.RESERVED);
        });
    }

    /** A transfer into a reserved extent is about to be submitted. */
    void writing(final ExtentEntry entry, final Transfer write) {
        change(() -> {
            entry.check("written", State.RESERVED, State.OFFERED, State.ACCEPTED);
            if (entry.write != null) {
                throw new IllegalStateException("the extent of " + entry.key + " is written already");
            }
            entry.write = write;
            entry.failedSyncsBefore = failedSyncs;
        });
    }

    /** It was refused, and nothing of it was started. */
    void writeRefused(final ExtentEntry entry) {
        change(() -> {
            entry.write = null;
            freeIfLetGo(entry);
        });
    }

    /** A transfer has ended that something may wait for. */
    void lookAgain() {
        change(this::finishEndings);
    }

    void offered(final ExtentEntry entry) {
        change(() -> {
            entry.check("offered", State.RESERVED, State.OFFERED);
            move(entry, State.OFFERED);
        });
    }

    void declined(final ExtentEntry entry) {
        change(() -> {
            entry.check("declined", State.RESERVED, State.OFFERED, State.ACCEPTED);
            move(entry, State.RESERVED);
            entry.forgetName();
        });
    }

    void accepted(final ExtentEntry entry, final long version, final long replicaId) {
        change(() -> {
            entry.check("accepted", State.OFFERED);
            entry.name(version, replicaId);
            move(entry, State.ACCEPTED);
        });
    }

    /** Whether it can be read now. */
    boolean commit(final ExtentEntry entry, final boolean checksummed, final long checksum) {
        return ask(() -> {
            entry.check("committed", State.ACCEPTED);
            if (!entry.hasWritten()) {
                throw new IllegalStateException("the extent of " + entry.key + " cannot be committed: it was not "
                    + "written, its write has not ended, or has failed");
            }
            entry.checksummed = checksummed;
            entry.checksum = checksummed ? checksum : 0;
            return publish(entry);
        });
    }

    /** The owner of a reservation lets go of it. */
    void close(final ExtentEntry entry) {
        change(() -> {
            switch (entry.state) {
                case RESERVED -> drop(entry);
                case OFFERED, ACCEPTED -> {
                    if (entry.isDropped()) {
                        drop(entry);
                    } else {
                        moveLast(entry, State.UNSETTLED);
                    }
                }
                default -> { }
            }
        });
    }

    /** Null unless that very value is there and can be read. */
    ExtentEntry acquire(final ObjectKey key, final long version, final Extent extent, final long size) {
        return ask(() -> {
            final ExtentEntry entry = extents.get(extent.offset());
            if (closed || entry == null || !entry.isReadable(failedSyncs) || !entry.holds(key, version, extent, size)) {
                return null;
            }
            entry.leases++;
            leases++;
            return entry;
        });
    }

    boolean isReadable(final ExtentEntry entry) {
        return ask(() -> !closed && entry.isReadable(failedSyncs));
    }

    /** What the master calls the replica; 0 for none. */
    long replicaId(final ExtentEntry entry) {
        return ask(entry::replicaId);
    }

    /** A lease is closed, of which some reads may still run. */
    void release(final ExtentEntry entry, final List<Transfer> running) {
        change(() -> {
            endings.reads(entry, running);
            finishEndings();
        });
    }

    /** The master has forgotten a replica. */
    void drop(final long offset, final long replicaId) {
        change(() -> {
            final ExtentEntry entry = extents.get(offset);
            if (entry == null || entry.state == State.RESERVED || entry.state == State.DROPPED) {
                return;
            }
            if (!entry.isGoneWith(replicaId) || entry.state == State.ACCEPTED) {
                // Of an extent that is being written, its owner does the rest.
                entry.keepDrop(replicaId);
            } else {
                drop(entry);
            }
        });
    }

    /** The values in a state, the oldest first. */
    List<StoredExtent> stored(final State state) {
        return select(entry -> entry.state == state);
    }

    /** What a new index has to say. */
    List<StoredExtent> durable() {
        return select(entry -> entry.inIndex && entry.state != State.DROPPED);
    }

    List<UnsettledExtent> unsettled(final int max) {
        // As a rule there is none, and there may be millions of others.
        return ask(() -> count(State.UNSETTLED) == 0 ? List.of() : extents.values().stream()
            .filter(entry -> entry.state == State.UNSETTLED && !entry.isWriting()).limit(max)
            .map(ExtentEntry::unsettled).toList());
    }

    /** Whether it can be read now. */
    boolean settle(final UnsettledExtent extent, final Verdict verdict) {
        return ask(() -> {
            final ExtentEntry entry = extents.get(extent.extent().offset());
            if (closed || entry == null || entry.number != extent.number() || entry.state != State.UNSETTLED
                || entry.isWriting()) {
                return false;
            }
            return switch (verdict.kind()) {
                case GONE -> {
                    drop(entry);
                    yield false;
                }
                case COMPLETE -> {
                    entry.name(verdict.version(), verdict.replicaId());
                    yield publish(entry);
                }
                case WAIT -> {
                    // Others are asked about first.
                    moveLast(entry, State.UNSETTLED);
                    yield false;
                }
            };
        });
    }

    /** Whether it can be read now, under that replica. */
    boolean adopt(final StoredExtent extent, final long replicaId) {
        return ask(() -> {
            final ExtentEntry there = offered(extent);
            // It may be answered twice.
            final ExtentEntry entry = there != null ? there : offered(extent.under(replicaId));
            if (entry == null) {
                return false;
            }
            final boolean renamed = entry.rename(replicaId);
            if (entry.isDropped()) {
                drop(entry);
                return false;
            }
            if (entry.state == State.RECOVERED) {
                move(entry, State.COMMITTED);
            }
            if (renamed) {
                journal.stored(entry);
            }
            return true;
        });
    }

    void refuse(final StoredExtent extent) {
        change(() -> {
            final ExtentEntry entry = offered(extent);
            if (entry != null) {
                drop(entry);
            }
        });
    }

    /** Records of these are about to be appended, their bytes are durable. Returns those that are still wanted. */
    List<StoredExtent> recording(final List<ExtentEntry> stored) {
        return ask(() -> {
            final List<StoredExtent> values = new ArrayList<>(stored.size());
            for (final ExtentEntry entry : stored) {
                if (entry.state == State.COMMITTED && (entry.inIndex || entry.isSound(failedSyncs))) {
                    entry.inIndex = true;
                    values.add(entry.stored());
                }
            }
            return values;
        });
    }

    /** No record names these any more, durably. */
    void removed(final List<ExtentEntry> removed) {
        change(() -> {
            for (final ExtentEntry entry : removed) {
                entry.inIndex = false;
                freeIfLetGo(entry);
            }
        });
    }

    /** A sync has failed; returns how many values that could be read are lost by it. */
    int lost() {
        return ask(() -> {
            failedSyncs++;
            final List<ExtentEntry> lost = extents.values().stream()
                .filter(entry -> entry.state == State.COMMITTED && !entry.inIndex).toList();
            lost.forEach(entry -> moveLast(entry, State.UNSETTLED));
            return lost.size();
        });
    }

    /** Whether something is under way that ends in an extent that is free, or can be given up. */
    boolean mayComeFree() {
        return ask(() -> count(State.RESERVED) + count(State.OFFERED) + count(State.ACCEPTED) + count(State.DROPPED)
            - endings.lostAndDropped() > 0
            || count(State.UNSETTLED) > 0 && extents.values().stream().anyMatch(
                entry -> entry.state == State.UNSETTLED && !entry.isLost()));
    }

    long used() {
        return ask(() -> {
            finishEndings();
            return used;
        });
    }

    GdsStorageStats stats() {
        return ask(() -> {
            finishEndings();
            return new GdsStorageStats(allocator.capacityBytes(), used, count(State.COMMITTED),
                count(State.RESERVED) + count(State.OFFERED) + count(State.ACCEPTED), count(State.UNSETTLED),
                count(State.RECOVERED), count(State.DROPPED), leases, deferredFrees, endings.lost());
        });
    }

    long capacity() {
        return allocator.capacityBytes();
    }

    /** Nothing is reserved, acquired, committed or settled from now on. */
    void refuseAll() {
        change(() -> closed = true);
    }

    @Override
    public void close() {
        change(() -> {
            closed = true;
            allocator.close();
        });
    }

    private void change(final Runnable step) {
        lock.lock();
        try {
            step.run();
        } finally {
            lock.unlock();
        }
    }

    private <T> T ask(final Supplier<T> look) {
        lock.lock();
        try {
            return look.get();
        } finally {
            lock.unlock();
        }
    }

    private ExtentEntry put(final ObjectKey key, final Extent extent, final long size, final State state) {
        final ExtentEntry entry = new ExtentEntry(++reservations, key, extent, size, state);
        extents.put(extent.offset(), entry);
        counts[state.ordinal()]++;
        used += extent.bytes();
        return entry;
    }

    /** The master counts it as whole: so do we, if it is. */
    private boolean publish(final ExtentEntry entry) {
        if (closed) {
            return false;
        }
        if (entry.isDropped() || !entry.isSound(failedSyncs)) {
            drop(entry);
            return false;
        }
        entry.written = true;
        entry.write = null;
        moveLast(entry, State.COMMITTED);
        journal.stored(entry);
        whenRoom.run();
        return true;
    }

    private void drop(final ExtentEntry entry) {
        if (entry.leases > 0) {
            deferredFrees++;
        }
        move(entry, State.DROPPED);
        if (entry.inIndex) {
            journal.removed(entry);
        }
        if (entry.isWriting()) {
            endings.write(entry);
        }
        freeIfLetGo(entry);
    }

    /** Who waits for a transfer to end, and has waited long enough. */
    private void finishEndings() {
        endings.finish(read -> {
            read.leases--;
            leases--;
        }, this::freeIfLetGo);
    }

    private void freeIfLetGo(final ExtentEntry entry) {
        if (closed || entry.state != State.DROPPED || entry.isWriting() || entry.leases > 0 || entry.inIndex
            || !extents.remove(entry.extent.offset(), entry)) {
            return;
        }
        counts[State.DROPPED.ordinal()]--;
        used -= entry.extent.bytes();
        if (!allocator.free(entry.extent.offset(), entry.extent.bytes())) {
            throw new IllegalStateException("the allocator does not know the extent of " + entry.key);
        }
        whenRoom.run();
    }

    /** The extent that an answer to an offer is about; null when it is not there as it was offered. */
    private ExtentEntry offered(final StoredExtent extent) {
        final ExtentEntry entry = closed ? null : extents.get(extent.extent().offset());
        return entry != null && (entry.state == State.RECOVERED || entry.state == State.COMMITTED)
            && entry.stored().equals(extent) ? entry : null;
    }

    private List<StoredExtent> select(final Predicate<ExtentEntry> wanted) {
        return ask(() -> extents.values().stream().filter(wanted).map(ExtentEntry::stored).toList());
    }

    private long count(final State state) {
        return counts[state.ordinal()];
    }

    private void move(final ExtentEntry entry, final State to) {
        counts[entry.state.ordinal()]--;
        counts[to.ordinal()]++;
        entry.state = to;
    }

    private void moveLast(final ExtentEntry entry, final State to) {
        move(entry, to);
        extents.remove(entry.extent.offset());
        extents.put(entry.extent.offset(), entry);
    }
}
