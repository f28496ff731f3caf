package io.kvtier.transport.file;

import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * The names in directories, as they are changed: each change can be seen at once, and survives a power failure when the
 * directory that the name is in has been synced since (fsync(2)), in an order with others or none. A test puts names of
 * its own here, which are lost when they were not.
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> on the disk.
 */
public interface DirectoryEntries {
    /** Those of the system. */
    DirectoryEntries SYSTEM = new DirectoryEntries() {
        @Override
        public void createDirectory(final Path directory) throws IOException {
            Files.createDirectory(directory);
        }

        @Override
        public void rename(final Path from, final Path to) throws IOException {
            Files.move(from, to, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        }

        @Override
        public void deleteIfExists(final Path file) throws IOException {
            Files.deleteIfExists(file);
        }

        @Override
        public void sync(final Path directory) {
            try (PosixFile file = PosixFile.open(directory.toString(), OpenMode.READ)) {
                file.syncAll();
            }
        }
    };

    /**
     * Makes one directory in another one that is there.
     *
     * @param directory which.
     * @throws java.nio.file.FileAlreadyExistsException when there is something of that name.
     * @throws IOException                              when it cannot be made.
     */
    void createDirectory(Path directory) throws IOException;

    /**
     * Gives a file another name, atomically, and takes that away from the file that had it.
     *
     * @param from what it is called.
     * @param to   what it shall be called.
     * @throws IOException when it is called as before.
     */
    void rename(Path from, Path to) throws IOException;

    /**
     * Deletes a file; nothing happens when there is none.
     *
     * @param file which.
     * @throws IOException when it is still there.
     */
    void deleteIfExists(Path file) throws IOException;

    /**
     * Makes durable which names are in a directory, and which files they lead to.
     *
     * @param directory which.
     * @throws NativeException when that is not known to be so.
     */
    void sync(Path directory);

    /**
     * Makes a directory with its parents, so that a power failure leaves what was made. Each is durable before the next
     * one is made in it: who finds one that another process has left half-way has the name of that one alone to sync.
     * It may lie in a directory that this process may not read, or of a file system that has no sync of one, and is
     * left at a warning then.
     *
     * @param directory which; what was there stays.
     * @throws IOException     when it cannot be made.
     * @throws NativeException when one that was made is not known to be durable.
     */
    default void createDurably(final Path directory) throws IOException {
        final Path absolute = directory.toAbsolutePath().normalize();
        final Deque<Path> missing = new ArrayDeque<>();
        Path there = absolute;
        while (there.getParent() != null && !Files.isDirectory(there)) {
            missing.push(there);
            there = there.getParent();
        }
        try {
            syncName(there);
        } catch (final NativeException e) {
            System.getLogger(DirectoryEntries.class.getName()).log(System.Logger.Level.WARNING, "it could not be made "
                + "sure that a power failure leaves directory {0}, which was there: {1}", there, e.getMessage());
        }
        for (final Path one : missing) {
            createUnlessThere(one);
            syncName(one);
        }
    }

    private void syncName(final Path directory) {
        if (directory.getParent() != null) {
            sync(directory.getParent());
        }
    }

    private void createUnlessThere(final Path directory) throws IOException {
        try {
            createDirectory(directory);
        } catch (final IOException e) {
            // Another process may have been first.
            if (!Files.isDirectory(directory)) {
                throw e;
            }
        }
    }
}
