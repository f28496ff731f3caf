package io.kvtier.store.storage.shared;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.hf3fs.Usrbio;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.SharedDiskVariables;
import io.kvtier.store.config.SharedDiskVariables.FileSystem;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import java.util.function.Supplier;

/** The implementations of {@link FileSystemAdapter}, by what the configuration calls them. */
public final class SharedFileSystems {
    private SharedFileSystems() {
    }

    /**
     * Opens one.
     *
     * @param kind   which.
     * @param opener opens files, where it needs one.
     * @param engine opens an engine of files that goes past the page cache, where it needs one.
     * @return the file system, to be closed.
     * @throws StoreException INVALID_PARAMS, when it cannot be had here, with what to do.
     */
    public static FileSystemAdapter open(final FileSystem kind, final FileOpener opener,
        final Supplier<TransferEngine> engine) {
        return switch (kind) {
            case POSIX -> new PosixFileSystem(opener, engine.get());
            case HF3FS -> {
                final Availability library = Usrbio.availability();
                if (!library.available()) {
                    throw new StoreException(ErrorCode.INVALID_PARAMS, SharedDiskVariables.FS_TYPE + " is '"
                        + kind.configName() + "', as it is where nothing is said, and USRBIO of 3FS cannot be used: "
                        + library.reason() + "; " + library.remedy() + ", or set it to posix "
                        + "(SharedDiskConfig.withFileSystem), which works on a 3FS mounted by FUSE, too");
                }
                yield Hf3fsFileSystem.open(new PosixFileSystem(opener, engine.get()), opener);
            }
        };
    }
}
