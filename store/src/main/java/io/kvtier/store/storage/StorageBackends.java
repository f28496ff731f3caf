package io.kvtier.store.storage;

import io.kvtier.bindings.NativeException;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.Closings;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** Opens the backend of a directory. <b>Threading:</b> stateless. <b>Blocking:</b> on the disk. */
public final class StorageBackends {
    private StorageBackends() {
    }

    /**
     * Opens the backend of a directory, or makes it.
     *
     * @param kind    which; {@link DiskBackend#DISTRIBUTED} through
     *                {@link io.kvtier.store.storage.shared.DistributedDirectory}, which has made sure that the
     *                directory is this host's.
     * @param options settings.
     * @param engine  moves the bytes; stays the caller's, who closes it after this.
     * @param opener  opens the files that the engine does not.
     * @return the backend.
     * @throws io.kvtier.store.StoreException when the directory is in use, cannot be written, has files of another
     *                                        backend, of another version or damaged ones, or the disk is full; nothing
     *                                        new is left then.
     */
    public static StorageBackend open(final DiskBackend kind, final BackendOptions options,
        final TransferEngine engine, final FileOpener opener) {
        try (Closings open = new Closings()) {
            DurableNames.of(opener).createDurably(options.directory());
            final StoreLock lock = open.keep(StoreLock.take(options.directory()), StoreLock::close);
            DirectoryHeader.refuseOthers(options.directory(), kind);
            final StorageBackend backend = switch (kind) {
                case OFFSET_ALLOCATOR -> extents(options, lock, engine, opener);
                case BUCKET -> files(FileLayout.BUCKET, options, lock, engine, opener);
                case FILE_PER_KEY -> files(FileLayout.FILE_PER_KEY, options, lock, engine, opener);
                case DISTRIBUTED -> files(FileLayout.DISTRIBUTED, options, lock, engine, opener);
            };
            open.stayOpen();
            return backend;
        } catch (final NativeException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot open or make the files in "
                + options.directory() + "; where the disk is full, free space or configure a smaller capacity", e);
        }
    }

    /**
     * Refuses a directory that another backend has made.
     *
     * @param directory which need not exist.
     * @param wanted    the one that is to use it.
     * @throws StoreException FILE_OPEN_FAIL, naming both.
     */
    public static void refuseOthers(final Path directory, final DiskBackend wanted) {
        DirectoryHeader.refuseOthers(directory, wanted);
    }

    /**
     * Which backend has made a directory.
     *
     * @param directory which need not exist.
     * @return the backend; empty when none has.
     */
    public static Optional<DiskBackend> maker(final Path directory) {
        return Arrays.stream(DiskBackend.values()).filter(one -> DirectoryHeader.made(directory, one)).findFirst();
    }

    private static StorageBackend extents(final BackendOptions options, final StoreLock lock,
        final TransferEngine engine, final FileOpener opener) {
        final ExtentMedium.Opened opened = ExtentMedium.open(options, engine, opener);
        // Extents lie within the file, or the index names none.
        return over(opened.medium(), opened.found(), opened.medium().capacityBytes(), options, lock);
    }

    private static StorageBackend files(final FileLayout layout, final BackendOptions options, final StoreLock lock,
        final TransferEngine engine, final FileOpener opener) {
        final FileMedium.Opened opened = FileMedium.open(layout, options, engine, opener);
        return over(opened.medium(), opened.found(), Long.MAX_VALUE, options, lock);
    }

    private static StorageBackend over(final Medium medium, final List<StoredValue> found, final long space,
        final BackendOptions options, final StoreLock lock) {
        try (Closings open = new Closings()) {
            open.keep(medium, Medium::close);
            final StoredIndex index = new StoredIndex(medium);
            final StorageBackend backend =
                new IndexedBackend(options, lock, medium, index, index.restore(found, space));
            open.stayOpen();
            return backend;
        }
    }
}
