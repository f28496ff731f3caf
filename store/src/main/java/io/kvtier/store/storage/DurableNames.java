package io.kvtier.store.storage;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.file.DirectoryEntries;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Names in a directory: changes of them that survive a crash.
 *
 * <p><b>Threading:</b> immutable.
 */
final class DurableNames {
    private static final String TEMPORARY_SUFFIX = ".tmp";

    private final DirectoryEntries entries;

    DurableNames(final DirectoryEntries entries) {
        this.entries = entries;
    }

    /** Those of the files that somebody opens. */
    static DurableNames of(final FileOpener opener) {
        return new DurableNames(opener.entries());
    }

    /** What a file is called while it is made: a crash leaves nothing that looks like a whole one. */
    static Path temporary(final Path path) {
        return Path.of(path + TEMPORARY_SUFFIX);
    }

    /** Replaces a name atomically; afterwards a crash finds the new file, never none. */
    void rename(final Path from, final Path to) {
        move(from, to);
        // A rename is in the directory, which is durable only after its own fsync (fsync(2)).
        sync(to.toAbsolutePath().getParent());
    }

    /** As {@link #rename}, but a crash may find either name until the directory has been synced. */
    void move(final Path from, final Path to) {
        try {
            entries.rename(from, to);
        } catch (final IOException e) {
            throw new StoreException(ErrorCode.FILE_WRITE_FAIL, "cannot rename " + from + " to " + to, e);
        }
    }

    /** Makes the names in a directory durable. */
    void sync(final Path directory) {
        entries.sync(directory);
    }

    void deleteIfExists(final Path path) {
        try {
            entries.deleteIfExists(path);
        } catch (final IOException e) {
            throw new StoreException(ErrorCode.FILE_WRITE_FAIL, "cannot delete " + path, e);
        }
    }

    /** Makes a directory in one that exists; what was there stays. */
    void createDirectory(final Path directory) {
        try {
            if (!Files.isDirectory(directory)) {
                entries.createDirectory(directory);
            }
        } catch (final IOException e) {
            throw cannotMake(directory, e);
        }
    }

    /** Makes a directory with its parents; afterwards a crash finds what was made. */
    void createDurably(final Path directory) {
        try {
            entries.createDurably(directory);
        } catch (final IOException e) {
            throw cannotMake(directory, e);
        }
    }

    private static StoreException cannotMake(final Path directory, final IOException e) {
        return new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot make directory " + directory
            + "; name a directory that this process may make and write", e);
    }
}
