package io.kvtier.store.storage;

import io.kvtier.bindings.NativeException;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.Closings;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import java.util.List;

/** Opens the backend of a directory. <b>Threading:</b> stateless. <b>Blocking:</b> on the disk. */
public final class StorageBackends {
    private StorageBackends() {
    }

    /**
     * Opens the backend of a directory, or makes it.
     *
     * @param kind    which.
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
        DurableNames.createDirectory(options.directory());
        try (Closings open = new Closings()) {
            final StoreLock lock = open.keep(StoreLock.take(options.directory()), StoreLock::close);
            final ExtentMedium.Opened opened = ExtentMedium.open(options, engine, opener);
            final Medium medium = open.keep(opened.medium(), Medium::close);
            final StoredIndex index = new StoredIndex(medium);
            final List<StoredValue> recovered = index.restore(opened.found(), medium.capacityBytes());
            final StorageBackend backend = new IndexedBackend(options, lock, medium, index, recovered);
            open.stayOpen();
            return backend;
        } catch (final NativeException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot open or make the files in "
                + options.directory() + "; where the disk is full, free space or configure a smaller capacity", e);
        }
    }
}
