package io.kvtier.store.cli;

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
 * <p><b>Threading:</b> one thread; the end of the JVM may remove a temporary directory at any time.
 */
final class WorkDirectory implements AutoCloseable {
    /** A store that still runs while the JVM ends may make a file in between; it stops soon. */
    private static final int ATTEMPTS = 10;

    private final Path path;
    private final Thread hook;

    private WorkDirectory(final Path path, final Thread hook) {
        this.path = path;
        this.hook = hook;
    }

    /**
     * Makes a temporary directory.
     *
     * @param parent where; null for the system's place for temporary files.
     * @return the directory.
     * @throws IOException naming the place, when it cannot be made.
     */
    static WorkDirectory temporary(final Path parent) throws IOException {
        if (parent != null && !Files.isDirectory(parent)) {
            throw new CommandFailure("--dir " + parent + " is not a directory; make it or name another one");
        }
        final Path path = parent == null ? Files.createTempDirectory("kvtier-")
            : Files.createTempDirectory(parent, "kvtier-");
        final Thread hook = new Thread(() -> removeQuietly(path), "kvtier-remove-" + path.getFileName());
        Runtime.getRuntime().addShutdownHook(hook);
        return new WorkDirectory(path, hook);
    }

    /**
     * Uses a directory of the user's, which stays.
     *
     * @param path the directory.
     * @return the directory.
     */
    static WorkDirectory kept(final Path path) {
        return new WorkDirectory(path, null);
    }

    Path path() {
        return path;
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

    private static void removeQuietly(final Path path) {
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
