package io.kvtier.store.storage.shared;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.hf3fs.Usrbio;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.Environment;
import io.kvtier.store.config.SharedDiskVariables;
import io.kvtier.store.config.SharedDiskVariables.FileSystem;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import java.util.Optional;
import java.util.function.Supplier;

/** The implementations of {@link FileSystemAdapter}, by what the configuration calls them. */
public final class SharedFileSystems {
    private SharedFileSystems() {
    }

    /**
     * Refuses what a disk with a file a key cannot be on. Without pages the variable speaks of that disk; with them, of
     * theirs.
     *
     * @param environment where {@link SharedDiskVariables#FS_TYPE} is looked for.
     * @throws StoreException INVALID_PARAMS, when it asks for anything but system calls.
     */
    public static void refuseForKeys(final Environment environment) {
        final Optional<String> said = environment.get(SharedDiskVariables.FS_TYPE);
        if (said.isPresent() && !said.get().equals(FileSystem.POSIX.configName()) && !pages(environment)) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, SharedDiskVariables.FS_TYPE + " is '" + said.get()
                + "', and " + DiskBackend.DISTRIBUTED.configName() + " goes by system calls alone: it opens, renames "
                + "and deletes a file a key, none of which USRBIO of 3FS does; set it to posix, which works on a 3FS "
                + "mounted by FUSE, too, or set " + SharedDiskVariables.PAGE_MODE + " to true for files of pages");
        }
    }

    private static boolean pages(final Environment environment) {
        try {
            return SharedDiskVariables.from(environment).isPresent();
        } catch (final IllegalArgumentException e) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, e.getMessage(), e);
        }
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
