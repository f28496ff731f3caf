package io.kvtier.store.storage;

import io.kvtier.alloc.RegionSlice;
import io.kvtier.alloc.extent.ExtentAllocator;
import io.kvtier.bindings.NativeException;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.transport.IoThreads;
import io.kvtier.transport.RareLog;
import io.kvtier.transport.Transfer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.agrona.CloseHelper;

/**
 * What all backends have in common: a {@link StoredIndex} says which value lies where and in which order they were
 * used, and a {@link Medium} keeps the bytes and makes the index survive.
 *
 * <p>Order of a store: room reserved → bytes written → data made durable → owner asked → written down, durably → value
 * published. So a value that can be read survives a crash. Order of a removal: value taken out of the index → that
 * written down → made durable → room free for others. So bytes of one value are never found under the name of another,
 * whenever the machine stops; room whose removal is not durable yet rests.
 *
 * <p><b>Threading:</b> thread-safe. {@code logLock} orders what is written down and what is being stored; it is held
 * across the log's fdatasync, so a removal may wait for a commit, but reads never do: they take only the index's own
 * short lock. Lock order: logLock, then the index's; the owner is asked under logLock, and must not call back.
 */
final class IndexedBackend implements StorageBackend {
    private static final System.Logger LOG = System.getLogger(IndexedBackend.class.getName());
    /** A batch of more than this part of the disk drives out what it needs and no more. */
    private static final long LARGE_BATCH = 8;
    private static final int LOG_THREADS = 1;
    private static final int LOG_QUEUE = 4096;

    private final BackendOptions options;
    private final AutoCloseable directoryLock;
    private final Medium medium;
    private final StoredIndex index;
    private final List<StoredValue> recovered;
    private final IoThreads logThread = new IoThreads("kvtier-index", LOG_THREADS, LOG_QUEUE);
    private final RareLog complaints = new RareLog(LOG);
    private final ReentrantLock logLock = new ReentrantLock();
    private boolean closed;

    /**
     * Takes over an open medium.
     *
     * @param options       settings.
     * @param directoryLock what keeps the directory for this; closed with it.
     * @param medium        closed with this.
     * @param index         of what is in the medium.
     * @param recovered     what was found, oldest first.
     */
    IndexedBackend(final BackendOptions options, final AutoCloseable directoryLock, final Medium medium,
        final StoredIndex index, final List<StoredValue> recovered) {
        this.options = options;
        this.directoryLock = directoryLock;
        this.medium = medium;
        this.index = index;
        this.recovered = recovered;
    }

    @Override
    public List<StoredValue> recovered() {
        return recovered;
    }

    @Override
    public List<StoredValue> stored() {
        return index.values();
    }

    @Override
    public List<Result> store(final List<Item> items, final Owner owner) {
        final List<PendingStore> batch = items.stream().map(PendingStore::new).toList();
        logThread.call(() -> {
            reserve(batch, owner);
            return null;
        });
        medium.write(batch);
        logThread.call(() -> {
            commit(batch, owner);
            return null;
        });
        return batch.stream().map(PendingStore::result).toList();
    }

    @Override
    public ReadLease acquire(final ObjectKey key, final long version) {
        final StoredIndex.Held held = index.acquire(key, version);
        return held == null ? null : new Lease(held);
    }

    @Override
    public void copiedUp(final ObjectKey key) {
        index.copiedUp(key);
    }

    @Override
    public void remove(final ObjectKey key, final long version) {
        remove(key, () -> index.remove(key, version));
    }

    private void remove(final ObjectKey key, final Supplier<StoredValue> taking) {
        logThread.call(() -> {
            logLock.lock();
            try {
                final StoredValue gone = taking.get();
                if (gone != null) {
                    append(List.of(gone));
                } else if (medium.isDamaged()) {
                    // It may be in the log all the same: a removal or a store of it was broken off.
                    makeLogDurable();
                }
            } catch (final NativeException | StoreException e) {
                throw new StoreException(ErrorCode.FILE_WRITE_FAIL, "value " + key + " is removed, but that could not "
                    + "be written to the index log in " + options.directory() + ", so a restart may find it again", e);
            } finally {
                logLock.unlock();
            }
            return null;
        });
    }

    @Override
    public long capacityBytes() {
        return medium.capacityBytes();
    }

    @Override
    public long usedBytes() {
        return medium.usedBytes();
    }

    @Override
    public void close() {
        logLock.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
        } finally {
            logLock.unlock();
        }
        try {
            flush();
        } finally {
            // After an error too: another store shall be able to have the directory.
            CloseHelper.closeAll(logThread, medium, directoryLock);
        }
    }

    /** A log with nothing dead in it, in the present order of use, is what the next start reads fastest. */
    private void flush() {
        logThread.call(() -> {
            logLock.lock();
            try {
                medium.rewrite(index.values());
            } finally {
                logLock.unlock();
            }
            return null;
        });
    }

    private void reserve(final List<PendingStore> batch, final Owner owner) {
        logLock.lock();
        try {
            long needed = 0;
            for (final PendingStore pending : batch) {
                final long bytes = DataFile.extentBytes(pending.size());
                // A value that never fits must not drive others out.
                needed += bytes <= medium.capacityBytes() ? bytes : 0;
            }
            keepBelowWatermark(needed, owner);
            for (final PendingStore pending : batch) {
                reserve(pending, owner);
            }
            prepare(batch, owner);
        } finally {
            logLock.unlock();
        }
    }

    /** Where the disk is full though the capacity is not used up, others go as if it were. */
    private void prepare(final List<PendingStore> batch, final Owner owner) {
        List<PendingStore> left = batch.stream().filter(PendingStore::isUnderWay).toList();
        try {
            left = medium.prepare(left);
            while (!left.isEmpty() && (freeResting() || evict(bytes(left), owner))) {
                left = medium.prepare(left);
            }
            left.forEach(pending -> pending.fail(Outcome.NO_SPACE, null));
        } catch (final RuntimeException | Error e) {
            // What was reserved is given back when the batch is committed.
            left.stream().filter(PendingStore::isUnderWay).forEach(pending -> pending.fail(Outcome.FAILED, e));
        }
    }

    private static long bytes(final List<PendingStore> pending) {
        return pending.stream().mapToLong(one -> DataFile.extentBytes(one.size())).sum();
    }

    private void keepBelowWatermark(final long needed, final Owner owner) {
        final long capacity = medium.capacityBytes();
        // What was removed already makes room before anything else is.
        if (medium.usedBytes() + needed > options.highWatermark() * capacity) {
            freeResting();
        }
        final long used = medium.usedBytes();
        if (used + needed > options.highWatermark() * capacity) {
            final double target = options.highWatermark() >= 1 ? capacity : options.lowWatermark() * capacity;
            evict((long) (used + needed - target), owner);
        }
    }

    private void reserve(final PendingStore pending, final Owner owner) {
        final long bytes = DataFile.extentBytes(pending.size());
        if (bytes > medium.capacityBytes()) {
            pending.fail(Outcome.TOO_LARGE, null);
            return;
        }
        try {
            boolean reserved = medium.reserve(pending);
            while (!reserved && (freeResting() || evict(bytes, owner))) {
                reserved = medium.reserve(pending);
            }
            if (!reserved) {
                pending.fail(Outcome.NO_SPACE, null);
            }
        } catch (final RuntimeException | Error e) {
            // What was reserved for others of the batch is given back when they are committed.
            pending.fail(Outcome.FAILED, e);
        }
    }

    /** Evicts about so many bytes; false when nothing could be. Afterwards the bytes are free to be allocated. */
    private boolean evict(final long bytes, final Owner owner) {
        final List<StoredValue> removals = retire(bytes, owner);
        append(removals);
        return freeResting() || !removals.isEmpty();
    }

    /**
     * Takes values out of the index, until they make up so many bytes: first such as lie in memory as well, so that
     * memory and disk together hold as much as they can, then the oldest that may go.
     */
    private List<StoredValue> retire(final long bytes, final Owner owner) {
        final List<StoredValue> removals = new ArrayList<>();
        long retired = 0;
        try {
            retired = retireCopies(bytes, owner, removals);
        } catch (final RuntimeException e) {
            append(removals);
            throw e;
        }
        // Each value is asked about once: those that have to stay are put behind the others.
        int left = index.size();
        while (retired < bytes && left > 0) {
            final List<StoredValue> victims = index.oldest(bytes - retired);
            if (victims.isEmpty()) {
                break;
            }
            left -= victims.size();
            final List<Boolean> allowed;
            try {
                allowed = owner.mayEvict(victims);
            } catch (final RuntimeException e) {
                // What has been let go before is gone, and is written down.
                append(removals);
                throw e;
            }
            for (int i = 0; i < victims.size(); i++) {
                final StoredValue victim = victims.get(i);
                if (!allowed.get(i)) {
                    index.defer(victim);
                } else if (index.remove(victim.key(), victim.version()) != null) {
                    removals.add(victim);
                    retired += DataFile.extentBytes(victim.size());
                }
            }
        }
        return removals;
    }

    /** Those that are not in memory any more are asked about no more, until they are again. */
    private long retireCopies(final long bytes, final Owner owner, final List<StoredValue> removals) {
        long retired = 0;
        List<StoredValue> copies = index.oldestCopies(bytes);
        while (!copies.isEmpty()) {
            final List<Boolean> allowed = owner.mayEvictCopies(copies);
            for (int i = 0; i < copies.size(); i++) {
                final StoredValue copy = copies.get(i);
                index.onlyHere(copy.key());
                if (allowed.get(i) && index.remove(copy.key(), copy.version()) != null) {
                    removals.add(copy);
                    retired += DataFile.extentBytes(copy.size());
                }
            }
            copies = retired < bytes ? index.oldestCopies(bytes - retired) : List.of();
        }
        return retired;
    }

    /**
     * Where there will be no room for another batch like this one, what has to go for it goes with this one's records,
     * so that a full disk needs no durable log for the removals and another for what takes their place.
     */
    private List<StoredValue> retireAhead(final List<PendingStore> good, final Owner owner) {
        final long next = bytes(good);
        final long free = medium.capacityBytes() - medium.usedBytes();
        return free >= next || next > medium.capacityBytes() / LARGE_BATCH ? List.of() : retire(next - free, owner);
    }

    private boolean freeResting() {
        if (index.hasResting()) {
            makeLogDurable();
            return true;
        }
        return false;
    }

    /** Everything that was written becomes part of the index, or its extents are given back. */
    private void commit(final List<PendingStore> batch, final Owner owner) {
        logLock.lock();
        try {
            for (final PendingStore pending : batch) {
                // A removal asks the owner first and this backend second. So either the owner knows of it here and
                // no record is written, or the removal comes for the lock after this and writes a record of its own.
                if (pending.isUnderWay()) {
                    askWhetherCurrent(pending, owner);
                }
            }
            repair(batch);
            medium.persist(batch);
            for (final PendingStore pending : batch) {
                if (!pending.isUnderWay() && pending.offset() != ExtentAllocator.NO_SPACE) {
                    medium.giveBack(pending);
                }
            }
            commitGood(batch.stream().filter(PendingStore::isUnderWay).toList(), owner);
        } finally {
            logLock.unlock();
        }
    }

    /** A log that is written anew says what there is: before anything is persisted that is not published yet. */
    private void repair(final List<PendingStore> batch) {
        if (!medium.isDamaged() || batch.stream().noneMatch(PendingStore::isUnderWay)) {
            return;
        }
        try {
            makeLogDurable();
        } catch (final RuntimeException | Error e) {
            DataFile.failAll(batch, e);
        }
    }

    private static void askWhetherCurrent(final PendingStore pending, final Owner owner) {
        try {
            if (!owner.isCurrent(pending.key(), pending.version())) {
                pending.fail(Outcome.REMOVED_MEANWHILE, null);
            }
        } catch (final RuntimeException e) {
            pending.fail(Outcome.FAILED, e);
        }
    }

    private void commitGood(final List<PendingStore> good, final Owner owner) {
        if (good.isEmpty()) {
            return;
        }
        final List<StoredValue> values = good.stream().map(PendingStore::value).toList();
        try {
            final List<StoredValue> removals = retireAhead(good, owner);
            medium.record(removals, index.replacedBy(values), values);
        } catch (final RuntimeException | Error e) {
            good.forEach(pending -> pending.fail(Outcome.FAILED, e));
            // The records may be on disk or not, so the extents rest until a rewritten log without them is. At once
            // when that can be: whoever replaces one of these values meanwhile has nothing to remove here.
            values.forEach(index::rest);
            repair();
            return;
        }
        for (int i = 0; i < values.size(); i++) {
            index.publish(values.get(i), good.get(i).usedNanos());
        }
        good.forEach(PendingStore::stored);
        index.freeResting();
        rewriteIfWorthIt();
    }

    private void rewriteIfWorthIt() {
        if (!medium.isWorthRewriting()) {
            return;
        }
        try {
            medium.rewrite(index.values());
            index.freeResting();
        } catch (final RuntimeException e) {
            // Everything is durable in the old log; the next batch tries again.
            complaints.warn("the index log of " + options.directory() + " could not be rewritten and grows",
                e::getMessage);
        }
    }

    private void repair() {
        try {
            if (medium.isDamaged()) {
                makeLogDurable();
            }
        } catch (final RuntimeException e) {
            LOG.log(System.Logger.Level.WARNING, "the index log of " + options.directory() + " is damaged and could "
                + "not be replaced; the next change tries again", e);
        }
    }

    private void append(final List<StoredValue> removals) {
        if (removals.isEmpty()) {
            return;
        }
        if (medium.isDamaged()) {
            makeLogDurable();
        }
        medium.append(removals);
    }

    /** Afterwards the log on disk says what the index says, and what rested is free. */
    private void makeLogDurable() {
        // Only when it must be: on a full disk there may be no room for another log before what rests is free.
        if (medium.isDamaged()) {
            medium.rewrite(index.values());
        } else {
            medium.sync();
        }
        index.freeResting();
    }

    /** A hold on a value; the index counts it. */
    private final class Lease implements ReadLease {
        private StoredIndex.Held held;
        private ValueAccess access;

        Lease(final StoredIndex.Held held) {
            this.held = held;
        }

        @Override
        public StoredValue value() {
            return held.value();
        }

        @Override
        public Transfer read(final RegionSlice target, final boolean alone) {
            if (access == null) {
                access = medium.access(held.value());
            }
            return access.read(held.value().size(), target, alone);
        }

        @Override
        public void discard() {
            remove(held.value().key(), () -> index.remove(held));
        }

        @Override
        public void close() {
            if (held != null) {
                CloseHelper.close(access);
                index.release(held);
                held = null;
            }
        }
    }
}
