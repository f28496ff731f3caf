package io.kvtier.store.storage;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.storage.StorageBackend.Outcome;
import io.kvtier.transport.Closings;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import org.agrona.CloseHelper;

/**
 * A value file while it is written, under another name than it will have. It is open only within a call, and from
 * {@link #start} to {@link #sync}: thousands of them may belong to one batch.
 *
 * <p><b>Threading:</b> one thread at a time. <b>Lifetime:</b> until {@link #finish} or {@link #abandon}.
 */
final class NewFile {
    private static final System.Logger LOG = System.getLogger(NewFile.class.getName());

    private final Path path;
    private final long address;
    private final long length;
    private final List<PendingStore> values;
    private final TransferEngine engine;
    private final FileOpener opener;
    private final DurableNames names;
    /** While values are written. */
    private Segment segment;

    private NewFile(final Path path, final long address, final long length, final List<PendingStore> values,
        final TransferEngine engine, final FileOpener opener) {
        this.path = path;
        this.address = address;
        this.length = length;
        this.values = values;
        this.engine = engine;
        this.opener = opener;
        this.names = DurableNames.of(opener);
    }

    /**
     * Makes the file and reserves its blocks; its values know their places afterwards.
     *
     * @throws io.kvtier.bindings.NativeException when that fails, the disk being full included; nothing is left then.
     */
    static NewFile create(final ValueFiles files, final List<PendingStore> values, final TransferEngine engine,
        final FileOpener opener) {
        final long header = ValueFileHeader.bytes(values.stream().map(PendingStore::key).toList());
        final long length =
            header + values.stream().mapToLong(value -> DataFile.extentBytes(value.size())).sum();
        final long address = files.take(length);
        final Path path = files.place(address, values.getFirst().key());
        final Path temporary = DurableNames.temporary(path);
        try (Closings made = new Closings()) {
            made.keep(temporary, DurableNames.of(opener)::deleteIfExists);
            try (BlockFile file = opener.open(temporary.toString(), OpenMode.CREATE_NEW)) {
                file.preallocate(0, length);
            }
            made.stayOpen();
            long at = address + header;
            for (final PendingStore value : values) {
                value.reserved(at);
                at += DataFile.extentBytes(value.size());
            }
            return new NewFile(path, address, length, List.copyOf(values), engine, opener);
        }
    }

    List<PendingStore> values() {
        return values;
    }

    Path path() {
        return path;
    }

    long address() {
        return address;
    }

    /**
     * Opens it and starts to write its values; those that it was started for are added, with their transfers. It is
     * open until {@link #sync}, which comes after the end of these.
     */
    void start(final List<PendingStore> writing, final List<Transfer> transfers) {
        try {
            segment = engine.openSegment(DurableNames.temporary(path).toUri().toString());
        } catch (final RuntimeException | Error e) {
            DataFile.failAll(values, e);
        }
        for (final PendingStore value : values) {
            if (value.isUnderWay()) {
                final Transfer transfer = DataFile.start(value,
                    () -> new ValueAccess(engine, segment, value.offset() - address, false));
                if (transfer != null) {
                    writing.add(value);
                    transfers.add(transfer);
                }
            }
        }
    }

    /** Makes durable what was written, and closes it. Nobody else writes to it: a refusal is told here or nowhere. */
    void sync() {
        try {
            if (isWanted()) {
                engine.sync(segment).await();
            }
        } catch (final RuntimeException e) {
            DataFile.failAll(values, new StoreException(ErrorCode.FILE_WRITE_FAIL, "a sync of " + path
                + " failed, so its values may be lost; store them again", e));
        } finally {
            CloseHelper.quietClose(segment);
        }
    }

    boolean isWanted() {
        return values.stream().anyMatch(PendingStore::isUnderWay);
    }

    /** Whether a write of which nothing was heard may still go on. */
    boolean isLost() {
        return values.stream().anyMatch(PendingStore::isLost);
    }

    /**
     * Its values are under way no more, and it stays, without a name, until the next start: the blocks of a file that
     * is deleted are another one's, and a device may write there at any time.
     */
    void leave() {
        DataFile.failAll(values, new StoreException(ErrorCode.FILE_WRITE_FAIL, "nothing is heard of a write of "
            + "another value to the same file, which may still go on; store them again", null));
        values.forEach(PendingStore::lose);
        LOG.log(System.Logger.Level.WARNING, "{0} bytes of the disk are out of use until the next start: nothing is "
            + "heard of a write to {1}, which may still go on", length, DurableNames.temporary(path));
    }

    /**
     * Writes down which values are in it, durably, and gives it its name, which its directory makes durable.
     *
     * @return the file; its values are under way no more, and it is abandoned, when that failed: null then.
     */
    ValueFile finish(final FileLayout layout, final UUID storageId) {
        final List<StoredValue> good =
            values.stream().filter(PendingStore::isUnderWay).map(PendingStore::value).toList();
        final ValueFileHeader header = new ValueFileHeader(address, length, good);
        try {
            try (BlockFile file = opener.open(DurableNames.temporary(path).toString(), OpenMode.READ_WRITE)) {
                header.write(file, layout, storageId);
                punchOthers(file);
                file.sync();
            }
            names.move(DurableNames.temporary(path), path);
        } catch (final RuntimeException | Error e) {
            fail(e);
            return null;
        }
        return new ValueFile(path, header);
    }

    /** What became of no use while it was written; where that cannot be given back, it is when the file is deleted. */
    private void punchOthers(final BlockFile file) {
        for (final PendingStore value : values) {
            if (!value.isUnderWay()) {
                file.punch(value.offset() - address, DataFile.extentBytes(value.size()));
            }
        }
    }

    /** Its values are under way no more, and nothing of it is left. */
    void fail(final Throwable why) {
        values.stream().filter(PendingStore::isUnderWay).forEach(value -> value.fail(Outcome.FAILED, why));
        abandon();
    }

    /** Nothing of it is left, under either name. */
    void abandon() {
        for (final Path name : List.of(DurableNames.temporary(path), path)) {
            try {
                names.deleteIfExists(name);
            } catch (final StoreException e) {
                // The next start deletes the one, and finds whole values in the other, which their owner refuses.
                LOG.log(System.Logger.Level.WARNING, e.getMessage());
            }
        }
    }
}
