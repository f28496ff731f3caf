package io.kvtier.store.storage;

import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Names in a directory: changes of them that survive a crash. */
final class DurableNames {
    private static final String TEMPORARY_SUFFIX = ".tmp";
    private static final System.Logger LOG = System.getLogger(DurableNames.class.getName());

    private DurableNames() {
    }

    /** What a file is called while it is made: a crash leaves nothing that looks like a whole one. */
    static Path temporary(final Path path) {
        return Path.of(path + TEMPORARY_SUFFIX);
    }

    /** Replaces a name atomically; afterwards a crash finds the new file, never none. */
    static void rename(final Path from, final Path to) {
        move(from, to);
        // A rename is in the directory, which is durable only after its own fsync (fsync(2)).
        sync(to.toAbsolutePath().getParent());
    }

    /** As {@link #rename}, but a crash may find either name until the directory has been synced. */
    static void move(final Path from, final Path to) {
        try {
            Files.move(from, to, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (final IOException e) {
            throw new StoreException(ErrorCode.FILE_WRITE_FAIL, "cannot rename " + from + " to " + to, e);
        }
    }

    /** Makes the names in a directory durable. */
    static void sync(final Path directory) {
        try (PosixFile file = PosixFile.open(directory.toString(), OpenMode.READ)) {
            file.syncAll();
        }
    }

    static void deleteIfExists(final Path path) {
        try {
            Files.deleteIfExists(path);
        } catch (final IOException e) {
            throw new StoreException(ErrorCode.FILE_WRITE_FAIL, "cannot delete " + path, e);
        }
    }

    /** Makes a directory with its parents; what was there stays. */
    static void createDirectory(final Path directory) {
        try {
            Files.createDirectories(directory);
        } catch (final IOException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot make directory " + directory
                + "; name a directory that this process may make and write", e);
        }
    }

    /**
     * As {@link #createDirectory}; afterwards a crash finds what was made. One that was there may lie in a directory
     * that this process may not read, or of a file system that has no sync of one: it is left at a warning then.
     *
     * @param directory which.
     * @param sync      makes the names in a directory durable, or throws.
     */
    static void createDurably(final Path directory, final Consumer<Path> sync) {
        final Path absolute = directory.toAbsolutePath().normalize();
        final boolean there = Files.isDirectory(absolute);
        final List<Path> parents = new ArrayList<>();
        for (Path at = absolute; at.getParent() != null; at = at.getParent()) {
            parents.add(at.getParent());
            if (Files.isDirectory(at.getParent())) {
                break;
            }
        }
        createDirectory(absolute);
        try {
            parents.forEach(sync);
        } catch (final NativeException e) {
            if (!there) {
                throw e;
            }
            LOG.log(System.Logger.Level.WARNING, "it could not be made sure that a power failure leaves directory {0}, "
                + "which was there: {1}", absolute, e.getMessage());
        }
    }
}
