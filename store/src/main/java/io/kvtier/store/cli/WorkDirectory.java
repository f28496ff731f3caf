package io.kvtier.store.cli;

import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;

/**
 * The directory of a command's disk tier. A temporary one is gone after {@link #close()}, and also after the process
 * was interrupted; one that the user named stays as it is.
 *
 * <p><b>Threading:</b> one thread; the end of the JVM may remove a temporary directory at any time, but not while a
 * store is being opened in it, since that would make the directory again.
 */
final class WorkDirectory implements AutoCloseable {
    /** A store that still runs while the JVM ends may make a file in between; it stops soon. */
    private static final int ATTEMPTS = 10;

    private final Path path;
    /** Runs at the end of the JVM; null when the directory is kept. */
    private final Thread hook;
    private boolean removed;

    private WorkDirectory(final Path path, final boolean temporary) {
        this.path = path;
        this.hook = temporary ? new Thread(this::removeAtTheEnd, "kvtier-remove-" + path.getFileName()) : null;
    }

    /**
     * Makes a temporary directory.
     *
     * @param option which names the place.
     * @param parent where; null for the system's place for temporary files.
     * @return the directory.
     * @throws IOException naming the place, when it cannot be made.
     */
    static WorkDirectory temporary(final String option, final Path parent) throws IOException {
        if (parent != null && !Files.isDirectory(parent)) {
            throw new CommandFailure(option + ' ' + parent + " is not a directory; make it or name another one");
        }
        // With the process, so that one that was killed can be told from one that runs.
        final String prefix = "kvtier-work-" + ProcessHandle.current().pid() + '-';
        final Path path = parent == null ? Files.createTempDirectory(prefix)
            : Files.createTempDirectory(parent, prefix);
        final WorkDirectory directory = new WorkDirectory(path, true);
        Runtime.getRuntime().addShutdownHook(directory.hook);
        return directory;
    }

    /**
     * Uses a directory of the user's, which stays.
     *
     * @param path the directory.
     * @return the directory.
     */
    static WorkDirectory kept(final Path path) {
        return new WorkDirectory(path, false);
    }

    Path path() {
        return path;
    }

    /**
     * Opens a store in the directory.
     *
     * @param opener opens it.
     * @param config what it may use, this directory among it.
     * @return the store.
     */
    synchronized Store open(final StoreOpener opener, final StoreConfig config) {
        if (removed) {
            throw new CommandFailure("interrupted");
        }
        return opener.open(config);
    }

    @Override
    public void close() {
        if (hook == null) {
            return;
        }
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (final IllegalStateException expected) {
            // The JVM is ending and the hook does the work.
            return;
        }
        try {
            remove(path);
        } catch (final IOException e) {
            throw new CommandFailure("temporary directory " + path + " could not be removed (" + e
                + "); remove it by hand", e);
        }
    }

    private synchronized void removeAtTheEnd() {
        removed = true;
        try {
            remove(path);
        } catch (final IOException e) {
            System.getLogger(WorkDirectory.class.getName()).log(System.Logger.Level.WARNING,
                "temporary directory " + path + " could not be removed; remove it by hand", e);
        }
    }

    private static void remove(final Path path) throws IOException {
        for (int attempt = 1; ; attempt++) {
            try {
                removeTree(path);
                return;
            } catch (final DirectoryNotEmptyException e) {
                if (attempt == ATTEMPTS) {
                    throw e;
                }
            }
        }
    }

    private static void removeTree(final Path path) throws IOException {
        Files.walkFileTree(path, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(final Path file, final BasicFileAttributes attributes)
                throws IOException {
                Files.deleteIfExists(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(final Path file, final IOException failure) throws IOException {
                if (Files.notExists(file)) {
                    return FileVisitResult.CONTINUE;
                }
                throw failure;
            }

            @Override
            public FileVisitResult postVisitDirectory(final Path directory, final IOException failure)
                throws IOException {
                if (failure != null) {
                    throw failure;
                }
                Files.deleteIfExists(directory);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
