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
 * A value file while it is written, under another name than it will have.
 *
 * <p><b>Threading:</b> one thread at a time. <b>Lifetime:</b> until {@link #finish} or {@link #abandon}.
 */
final class NewFile {
    private final Place place;
    private final List<PendingStore> values;
    private final TransferEngine engine;
    private final BlockFile file;
    private final Segment segment;

    /** What it will be called, and the range of the space that it is. */
    private record Place(Path path, long address, long length, DurableNames names) {
        /** Its name while it is written. */
        Path temporary() {
            return DurableNames.temporary(path);
        }
    }

    private NewFile(final Place place, final List<PendingStore> values, final TransferEngine engine,
        final BlockFile file, final Segment segment) {
        this.place = place;
        this.values = values;
        this.engine = engine;
        this.file = file;
        this.segment = segment;
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
        final Place place = new Place(files.place(address, values.getFirst().key()), address, length,
            DurableNames.of(opener));
        final Path temporary = place.temporary();
        try (Closings made = new Closings()) {
            made.keep(temporary, place.names()::deleteIfExists);
            final BlockFile file =
                made.keep(opener.open(temporary.toString(), OpenMode.CREATE_NEW), CloseHelper::quietClose);
            file.preallocate(0, length);
            final Segment segment = engine.openSegment(temporary.toUri().toString());
            made.stayOpen();
            long at = address + header;
            for (final PendingStore value : values) {
                value.reserved(at);
                at += DataFile.extentBytes(value.size());
            }
            return new NewFile(place, List.copyOf(values), engine, file, segment);
        }
    }

    List<PendingStore> values() {
        return values;
    }

    Path path() {
        return place.path();
    }

    long address() {
        return place.address();
    }

    /** Starts to write its values; those that it was started for are added, with their transfers. */
    void start(final List<PendingStore> writing, final List<Transfer> transfers) {
        for (final PendingStore value : values) {
            if (value.isUnderWay()) {
                final Transfer transfer = DataFile.start(value,
                    () -> new ValueAccess(engine, segment, value.offset() - address(), false));
                if (transfer != null) {
                    writing.add(value);
                    transfers.add(transfer);
                }
            }
        }
    }

    /** Makes durable what was written. Nobody else writes to this file: a refusal is told here or nowhere. */
    void sync() {
        if (!isWanted()) {
            return;
        }
        try {
            engine.sync(segment).await();
        } catch (final RuntimeException e) {
            DataFile.failAll(values, new StoreException(ErrorCode.FILE_WRITE_FAIL, "a sync of " + path()
                + " failed, so its values may be lost; store them again", e));
        }
    }

    boolean isWanted() {
        return values.stream().anyMatch(PendingStore::isUnderWay);
    }

    /**
     * Writes down which values are in it, durably, and gives it its name, which its directory makes durable.
     *
     * @return the file; its values are under way no more, and it is abandoned, when that failed: null then.
     */
    ValueFile finish(final FileLayout layout, final UUID storageId) {
        final List<StoredValue> good =
            values.stream().filter(PendingStore::isUnderWay).map(PendingStore::value).toList();
        final ValueFileHeader header = new ValueFileHeader(address(), place.length(), good);
        try {
            header.write(file, layout, storageId);
            punchOthers();
            file.sync();
            place.names().move(place.temporary(), path());
        } catch (final RuntimeException | Error e) {
            fail(e);
            return null;
        }
        close();
        return new ValueFile(path(), header);
    }

    /** What became of no use while it was written; where that cannot be given back, it is when the file is deleted. */
    private void punchOthers() {
        for (final PendingStore value : values) {
            if (!value.isUnderWay()) {
                file.punch(value.offset() - address(), DataFile.extentBytes(value.size()));
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
        close();
        for (final Path name : List.of(place.temporary(), path())) {
            try {
                place.names().deleteIfExists(name);
            } catch (final StoreException e) {
                // The next start deletes the one, and finds whole values in the other, which their owner refuses.
                System.getLogger(NewFile.class.getName()).log(System.Logger.Level.WARNING, e.getMessage());
            }
        }
    }

    /** Everything that was written is durable, or of no use. A second call does nothing. */
    private void close() {
        CloseHelper.quietCloseAll(file, segment);
    }
}
