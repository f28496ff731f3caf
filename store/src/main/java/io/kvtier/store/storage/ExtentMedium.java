package io.kvtier.store.storage;

import io.kvtier.alloc.Units;
import io.kvtier.alloc.extent.ExtentAllocator;
import io.kvtier.transport.Closings;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.agrona.CloseHelper;

/**
 * One preallocated file: an {@link ExtentAllocator} says which bytes are taken, and an {@link IndexLog} makes the index
 * survive.
 */
final class ExtentMedium implements Medium {
    private static final System.Logger LOG = System.getLogger(ExtentMedium.class.getName());

    private final ExtentAllocator allocator;
    private final DataFile data;
    private final IndexLog<IndexRecord, StoredValue> log;

    /** A medium, and what was in it, oldest first. */
    record Opened(ExtentMedium medium, List<StoredValue> found) {
    }

    private ExtentMedium(final ExtentAllocator allocator, final DataFile data,
        final IndexLog<IndexRecord, StoredValue> log) {
        this.allocator = allocator;
        this.data = data;
        this.log = log;
    }

    /** Opens the files of a directory that is locked, or makes them. */
    static Opened open(final BackendOptions options, final TransferEngine engine, final FileOpener opener) {
        final Path directory = options.directory();
        try (Closings open = new Closings()) {
            final long capacity = Units.down(options.capacity(), DataFile.UNIT_BYTES);
            if (!Files.exists(directory.resolve(BackingFile.FILE_NAME))) {
                // An index without its backing file names bytes that are gone. It goes first: beside a new backing file
                // it would be refused ever after.
                DurableNames.of(opener).deleteIfExists(directory.resolve(IndexLog.FILE_NAME));
            }
            final BackingFile file = BackingFile.open(directory, capacity, DataFile.UNIT_BYTES, opener);
            final IndexLog.Opened<IndexRecord, StoredValue> opened =
                IndexLog.open(directory, file.storageId(), opener);
            open.keep(opened.log(), IndexLog::close);
            final ExtentAllocator allocator =
                open.keep(DataFile.extents(file.capacity()), ExtentAllocator::close);
            final DataFile data = DataFile.open(engine, file.path());
            open.stayOpen();
            return new Opened(new ExtentMedium(allocator, data, opened.log()), opened.values());
        }
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
    public boolean take(final StoredValue value) {
        return allocator.markAllocated(value.offset(), DataFile.extentBytes(value.size()));
    }

    @Override
    public boolean reserve(final PendingStore pending) {
        pending.reserved(allocator.allocate(DataFile.extentBytes(pending.size())));
        return pending.offset() != ExtentAllocator.NO_SPACE;
    }

    @Override
    public List<PendingStore> prepare(final List<PendingStore> reserved) {
        return List.of();
    }

    @Override
    public void write(final List<PendingStore> batch) {
        data.write(batch);
    }

    @Override
    public void persist(final List<PendingStore> batch) {
        // A place in the file is one already.
    }

    @Override
    public void giveBack(final PendingStore pending) {
        if (pending.isLost()) {
            // A device may write there at any time: it is nobody else's, and counts as taken, until this is closed.
            LOG.log(System.Logger.Level.WARNING, "{0} bytes of the disk are out of use until the next start: nothing "
                + "is heard of a write of {1}, which may still go on", DataFile.extentBytes(pending.size()),
                pending.key());
            return;
        }
        allocator.free(pending.offset(), DataFile.extentBytes(pending.size()));
    }

    @Override
    public void free(final List<StoredValue> gone) {
        for (final StoredValue value : gone) {
            if (!allocator.free(value.offset(), DataFile.extentBytes(value.size()))) {
                throw new IllegalStateException("the allocator does not know the extent of " + value);
            }
        }
    }

    @Override
    public void append(final List<StoredValue> removals) {
        log.append(removals.stream().map(IndexRecord::removed).toList());
    }

    @Override
    public void record(final List<StoredValue> removals, final List<StoredValue> replaced,
        final List<StoredValue> values) {
        final List<IndexRecord> records = new ArrayList<>(removals.stream().map(IndexRecord::removed).toList());
        values.forEach(value -> records.add(IndexRecord.stored(value)));
        log.append(records);
        log.sync();
    }

    @Override
    public void sync() {
        log.sync();
    }

    @Override
    public boolean isDamaged() {
        return log.isDamaged();
    }

    @Override
    public boolean isWorthRewriting() {
        return log.isWorthRewriting();
    }

    @Override
    public void rewrite(final List<StoredValue> live) {
        log.rewrite(live);
    }

    @Override
    public ValueAccess access(final StoredValue value) {
        return data.access(value.offset());
    }

    @Override
    public void close() {
        CloseHelper.closeAll(log, data, allocator);
    }
}
