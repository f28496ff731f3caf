package io.kvtier.store.storage;

import io.kvtier.alloc.RegionSlice;
import io.kvtier.alloc.Units;
import io.kvtier.alloc.extent.ExtentAllocator;
import io.kvtier.bindings.NativeException;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.transport.Closings;
import io.kvtier.transport.IoThreads;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.agrona.CloseHelper;

/**
 * One preallocated file; an {@link ExtentAllocator} says which bytes are taken, a {@link StoredIndex} which value lies
 * where, an {@link IndexLog} makes that survive.
 *
 * <p>Order of a store: extent reserved → bytes written → data made durable → record appended and made durable → value
 * published. So a value that can be read survives a crash. Order of a removal: value taken out of the index → record
 * appended → record made durable → extent free for others. So bytes of one value are never found under the name of
 * another, whenever the machine stops; extents whose removal is not durable yet rest.
 *
 * <p><b>Threading:</b> thread-safe. {@code logLock} orders the records of the log and what is being stored; it is held
 * across the log's fdatasync, so a removal may wait for a commit, but reads never do: they take only the index's own
 * short lock. Lock order: logLock, then the index's; the owner is asked under logLock, and must not call back.
 */
public final class OffsetAllocatorBackend implements StorageBackend {
    private static final System.Logger LOG = System.getLogger(OffsetAllocatorBackend.class.getName());
    /** A batch of more than this part of the disk drives out what it needs and no more. */
    private static final long LARGE_BATCH = 8;
    private static final int LOG_THREADS = 1;
    private static final int LOG_QUEUE = 4096;

    private final Options options;
    private final StoreLock directoryLock;
    private final DataFile data;
    private final ExtentAllocator allocator;
    private final StoredIndex index;
    private final IndexLog<IndexRecord, StoredValue> log;
    private final List<StoredValue> recovered;
    private final IoThreads logThread = new IoThreads("kvtier-index", LOG_THREADS, LOG_QUEUE);
    private final ReentrantLock logLock = new ReentrantLock();
    private boolean closed;

    /**
     * Settings.
     *
     * @param directory     where its files are; made when absent.
     * @param capacity      bytes for values, at least a unit; rounded down to whole units.
     * @param highWatermark share of the capacity above which values are evicted.
     * @param lowWatermark  share down to which they are.
     */
    public record Options(Path directory, long capacity, double highWatermark, double lowWatermark) {
    }

    private OffsetAllocatorBackend(final Options options, final StoreLock directoryLock,
        final TransferEngine engine, final BackingFile file,
        final IndexLog.Opened<IndexRecord, StoredValue> opened) {
        this.options = options;
        this.directoryLock = directoryLock;
        this.log = opened.log();
        try (Closings made = new Closings()) {
            this.allocator = made.keep(DataFile.extents(file.capacity()), ExtentAllocator::close);
            this.index = new StoredIndex(allocator);
            this.recovered = index.restore(opened.values(), file.capacity());
            this.data = DataFile.open(engine, file.path());
            made.stayOpen();
        }
    }

    /**
     * Opens the backend of a directory, or makes it.
     *
     * @param options settings.
     * @param engine  moves the bytes; stays the caller's, who closes it after this.
     * @param opener  opens the files that the engine does not.
     * @return the backend.
     * @throws io.kvtier.store.StoreException when the directory is in use, cannot be written, has files of another
     *                                        version or damaged ones, or the disk is full; nothing new is left then.
     */
    public static OffsetAllocatorBackend open(final Options options, final TransferEngine engine,
        final FileOpener opener) {
        DurableNames.createDirectory(options.directory());
        try (Closings open = new Closings()) {
            final StoreLock lock = open.keep(StoreLock.take(options.directory()), StoreLock::close);
            final long capacity = Units.down(options.capacity(), DataFile.UNIT_BYTES);
            if (!Files.exists(options.directory().resolve(BackingFile.FILE_NAME))) {
                // An index without its backing file names bytes that are gone. It goes first: beside a new backing file
                // it would be refused ever after.
                DurableNames.deleteIfExists(options.directory().resolve(IndexLog.FILE_NAME));
            }
            final BackingFile file = BackingFile.open(options.directory(), capacity, DataFile.UNIT_BYTES, opener);
            final IndexLog.Opened<IndexRecord, StoredValue> opened =
                IndexLog.open(options.directory(), file.storageId(), opener);
            open.keep(opened.log(), IndexLog::close);
            final OffsetAllocatorBackend backend = new OffsetAllocatorBackend(options, lock, engine, file, opened);
            open.stayOpen();
            return backend;
        } catch (final NativeException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot open or make the files in "
                + options.directory() + "; where the disk is full, free space or configure a smaller capacity", e);
        }
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
        data.write(batch);
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
    public void remove(final ObjectKey key, final long version) {
        remove(key, () -> index.remove(key, version));
    }

    private void remove(final ObjectKey key, final Supplier<StoredValue> taking) {
        logThread.call(() -> {
            logLock.lock();
            try {
                final StoredValue gone = taking.get();
                if (gone != null) {
                    append(List.of(IndexRecord.removed(gone)));
                } else if (log.isDamaged()) {
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
        return allocator.capacityBytes();
    }

    @Override
    public long usedBytes() {
        return allocator.allocatedBytes();
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
            CloseHelper.closeAll(logThread, log, data, allocator, directoryLock);
        }
    }

    /** A log with nothing dead in it, in the present order of use, is what the next start reads fastest. */
    private void flush() {
        logThread.call(() -> {
            logLock.lock();
            try {
                log.rewrite(index.values());
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
                needed += bytes <= allocator.capacityBytes() ? bytes : 0;
            }
            keepBelowWatermark(needed, owner);
            for (final PendingStore pending : batch) {
                reserve(pending, owner);
            }
        } finally {
            logLock.unlock();
        }
    }

    private void keepBelowWatermark(final long needed, final Owner owner) {
        final long capacity = allocator.capacityBytes();
        // What was removed already makes room before anything else is.
        if (allocator.allocatedBytes() + needed > options.highWatermark() * capacity) {
            freeResting();
        }
        final long used = allocator.allocatedBytes();
        if (used + needed > options.highWatermark() * capacity) {
            final double target = options.highWatermark() >= 1 ? capacity : options.lowWatermark() * capacity;
            evict((long) (used + needed - target), owner);
        }
    }

    private void reserve(final PendingStore pending, final Owner owner) {
        final long bytes = DataFile.extentBytes(pending.size());
        if (bytes > allocator.capacityBytes()) {
            pending.fail(Outcome.TOO_LARGE, null);
            return;
        }
        try {
            pending.reserved(allocator.allocate(bytes));
            while (pending.offset() == ExtentAllocator.NO_SPACE && (freeResting() || evict(bytes, owner))) {
                pending.reserved(allocator.allocate(bytes));
            }
        } catch (final RuntimeException | Error e) {
            // What was reserved for others of the batch is given back when they are committed.
            pending.fail(Outcome.FAILED, e);
            return;
        }
        if (pending.offset() == ExtentAllocator.NO_SPACE) {
            pending.fail(Outcome.NO_SPACE, null);
        }
    }

    /** Evicts about so many bytes; false when nothing could be. Afterwards the bytes are free to be allocated. */
    private boolean evict(final long bytes, final Owner owner) {
        final List<IndexRecord> removals = retire(bytes, owner);
        append(removals);
        return freeResting() || !removals.isEmpty();
    }

    /** Takes the oldest values that may go out of the index, until they make up so many bytes. */
    private List<IndexRecord> retire(final long bytes, final Owner owner) {
        final List<IndexRecord> removals = new ArrayList<>();
        long retired = 0;
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
                    removals.add(IndexRecord.removed(victim));
                    retired += DataFile.extentBytes(victim.size());
                }
            }
        }
        return removals;
    }

    /**
     * Where there will be no room for another batch like this one, what has to go for it goes with this one's records,
     * so that a full disk needs no durable log for the removals and another for what takes their place.
     */
    private List<IndexRecord> retireAhead(final List<PendingStore> good, final Owner owner) {
        long next = 0;
        for (final PendingStore pending : good) {
            next += DataFile.extentBytes(pending.size());
        }
        final long free = allocator.capacityBytes() - allocator.allocatedBytes();
        return free >= next || next > allocator.capacityBytes() / LARGE_BATCH ? List.of() : retire(next - free, owner);
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
            final List<PendingStore> good = new ArrayList<>(batch.size());
            for (final PendingStore pending : batch) {
                // A removal asks the owner first and this backend second. So either the owner knows of it here and
                // no record is written, or the removal comes for the lock after this and writes a record of its own.
                if (pending.isUnderWay()) {
                    askWhetherCurrent(pending, owner);
                }
                if (pending.isUnderWay()) {
                    good.add(pending);
                } else if (pending.offset() != ExtentAllocator.NO_SPACE) {
                    allocator.free(pending.offset(), DataFile.extentBytes(pending.size()));
                }
            }
            commitGood(good, owner);
        } finally {
            logLock.unlock();
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
            final List<IndexRecord> records = new ArrayList<>(retireAhead(good, owner));
            values.forEach(value -> records.add(IndexRecord.stored(value)));
            append(records);
            log.sync();
        } catch (final RuntimeException | Error e) {
            good.forEach(pending -> pending.fail(Outcome.FAILED, e));
            // The records may be on disk or not, so the extents rest until a rewritten log without them is. At once
            // when that can be: whoever replaces one of these values meanwhile has nothing to remove here.
            values.forEach(index::rest);
            repair();
            return;
        }
        values.forEach(index::publish);
        good.forEach(PendingStore::stored);
        index.freeResting();
        rewriteIfWorthIt();
    }

    private void rewriteIfWorthIt() {
        if (!log.isWorthRewriting()) {
            return;
        }
        try {
            makeLogDurable();
        } catch (final RuntimeException e) {
            // Everything is durable in the old log; the next change tries again.
            LOG.log(System.Logger.Level.WARNING, "the index log of " + options.directory() + " could not be rewritten",
                e);
        }
    }

    private void repair() {
        try {
            if (log.isDamaged()) {
                makeLogDurable();
            }
        } catch (final RuntimeException e) {
            LOG.log(System.Logger.Level.WARNING, "the index log of " + options.directory() + " is damaged and could "
                + "not be replaced; the next change tries again", e);
        }
    }

    private void append(final List<IndexRecord> records) {
        if (records.isEmpty()) {
            return;
        }
        if (log.isDamaged()) {
            makeLogDurable();
        }
        log.append(records);
    }

    /** Afterwards the log on disk says what the index says, and what rested is free. */
    private void makeLogDurable() {
        if (log.isDamaged() || log.isWorthRewriting()) {
            log.rewrite(index.values());
        } else {
            log.sync();
        }
        index.freeResting();
    }

    /** A hold on a value; the index counts it. */
    private final class Lease implements ReadLease {
        private StoredIndex.Held held;

        Lease(final StoredIndex.Held held) {
            this.held = held;
        }

        @Override
        public StoredValue value() {
            return held.value();
        }

        @Override
        public Transfer read(final RegionSlice target, final boolean alone) {
            return data.read(held.value(), target, alone);
        }

        @Override
        public void discard() {
            remove(held.value().key(), () -> index.remove(held));
        }

        @Override
        public void close() {
            if (held != null) {
                index.release(held);
                held = null;
            }
        }
    }
}
