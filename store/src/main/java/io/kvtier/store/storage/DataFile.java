package io.kvtier.store.storage;

import io.kvtier.alloc.Units;
import io.kvtier.alloc.extent.ExtentAllocator;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.storage.StorageBackend.Outcome;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferEngine;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;

/**
 * The bytes of the backing file, moved by the transfer engine: whole extents where the memory has room for them, since
 * whole blocks need no staging.
 *
 * <p><b>Threading:</b> thread-safe; batches that are written at the same time share an fdatasync. <b>Lifetime:</b>
 * owns the segment, not the engine.
 */
final class DataFile implements AutoCloseable {
    /** Extents on a disk are multiples of what direct I/O needs. */
    static final long UNIT_BYTES = StoreConfig.UNIT_BYTES;

    /** Extents are reserved under one lock, so one cursor is enough. */
    private static final int ALLOCATOR_LANES = 1;

    private final TransferEngine engine;
    private final Segment segment;
    private final Path path;
    private final SyncGroup syncs = new SyncGroup();

    private DataFile(final TransferEngine engine, final Segment segment, final Path path) {
        this.engine = engine;
        this.segment = segment;
        this.path = path;
    }

    static DataFile open(final TransferEngine engine, final Path path) {
        return new DataFile(engine, engine.openSegment(path.toUri().toString()), path);
    }

    /** An allocator of extents in a file, to be closed. */
    static ExtentAllocator extents(final long capacity) {
        return ExtentAllocator.create(capacity, UNIT_BYTES, ALLOCATOR_LANES);
    }

    /** Bytes of the extent of a value: whole units, at least one. */
    static long extentBytes(final long size) {
        return Units.taken(size, UNIT_BYTES);
    }

    /** Writes what is under way and makes it durable; what could not be is no longer under way afterwards. */
    void write(final List<PendingStore> batch) {
        final long failuresBefore = syncs.failures();
        final List<PendingStore> writing = new ArrayList<>(batch.size());
        final List<Transfer> transfers = new ArrayList<>(batch.size());
        for (final PendingStore pending : batch) {
            if (pending.isUnderWay()) {
                final Transfer transfer = start(pending, () -> access(pending.offset()));
                if (transfer != null) {
                    writing.add(pending);
                    transfers.add(transfer);
                }
            }
        }
        // The processor takes checksums while the disk takes the bytes.
        writing.forEach(PendingStore::takeChecksum);
        for (int i = 0; i < writing.size(); i++) {
            await(transfers.get(i), writing.get(i));
        }
        makeDurable(writing, failuresBefore);
    }

    /** The way to the bytes of an extent. */
    ValueAccess access(final long extentOffset) {
        return new ValueAccess(engine, segment, BackingFile.HEADER_BYTES + extentOffset, false);
    }

    @Override
    public void close() {
        segment.close();
    }

    /** Null when it could not be started: the value is under way no more. */
    static Transfer start(final PendingStore pending, final Supplier<ValueAccess> place) {
        try {
            Objects.checkFromIndexSize(0, pending.size(), pending.memory().length());
            return place.get().write(pending.memory(), pending.size());
        } catch (final RuntimeException | Error e) {
            // An error too: what was started before it is waited for.
            pending.fail(Outcome.FAILED, e);
            return null;
        }
    }

    /** Waits for a write; one that may go on all the same has its value keep its place. */
    static void await(final Transfer transfer, final PendingStore pending) {
        try {
            transfer.await();
        } catch (final RuntimeException e) {
            pending.fail(Outcome.FAILED, e);
        }
        if (!transfer.isSettled()) {
            pending.lose();
        }
    }

    private void makeDurable(final List<PendingStore> batch, final long failuresBefore) {
        if (batch.stream().noneMatch(PendingStore::isUnderWay)) {
            return;
        }
        final Throwable problem = syncs.sync(failuresBefore, () -> engine.sync(segment).await());
        if (problem != null) {
            failAll(batch, new StoreException(ErrorCode.FILE_WRITE_FAIL, "a sync of " + path
                + " failed, which may have lost this batch's bytes whoever called it; store them again", problem));
        }
    }

    static void failAll(final List<PendingStore> batch, final Throwable why) {
        batch.stream().filter(PendingStore::isUnderWay).forEach(pending -> pending.fail(Outcome.FAILED, why));
    }
}
