package io.kvtier.store.storage;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Keeps a directory, or a single file, for one store, of this process or any other on the host, as long as it is open.
 * The kernel gives the lock up when the process dies; the empty lock file stays.
 */
final class StoreLock implements AutoCloseable {
    private static final String FILE_NAME = "LOCK";
    private static final String SUFFIX = ".lock";

    /**
     * Locks of this process. The kernel drops all locks that a process has on a file when the process closes any of its
     * descriptors of it (fcntl(2)), so a lock file that is held must not even be opened again.
     */
    private static final Set<Object> HELD = ConcurrentHashMap.newKeySet();

    private final Object name;
    private final FileChannel channel;

    private StoreLock(final Object name, final FileChannel channel) {
        this.name = name;
        this.channel = channel;
    }

    static StoreLock take(final Path directory) {
        return take(directory.resolve(FILE_NAME), "directory", directory);
    }

    /** Keeps a file, by a lock file beside it: the file itself is opened and closed by others meanwhile. */
    static StoreLock ofFile(final Path file) {
        return take(Path.of(file + SUFFIX), "file", file);
    }

    private static StoreLock take(final Path file, final String kind, final Path kept) {
        Object name = null;
        FileChannel channel = null;
        try {
            name = nameOf(file);
            if (HELD.add(name)) {
                channel = FileChannel.open(file, StandardOpenOption.WRITE);
                if (channel.tryLock() != null) {
                    return new StoreLock(name, channel);
                }
                release(name, channel);
            }
        } catch (final OverlappingFileLockException e) {
            // Somebody of this process who is not a store.
            release(name, channel);
        } catch (final IOException e) {
            release(name, channel);
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot write to " + kind + ' ' + kept + " (lock file "
                + file.getFileName() + "); name a " + kind + " that this process may write", e);
        }
        throw new StoreException(ErrorCode.FILE_LOCK_FAIL, kind + ' ' + kept + " is in use by another store (file "
            + file.getFileName() + " is locked); close that one or name another " + kind);
    }

    /** Device and inode of the lock file, which is made when absent; one that exists is not opened. */
    private static Object nameOf(final Path file) throws IOException {
        try {
            Files.createFile(file);
        } catch (final FileAlreadyExistsException ignored) {
            // The usual case.
        }
        return Files.readAttributes(file, BasicFileAttributes.class).fileKey();
    }

    @Override
    public void close() {
        // A second call must not give up what another store has taken since.
        if (channel.isOpen()) {
            release(name, channel);
        }
    }

    /** The channel first: with the name gone, the next one may open the file. */
    private static void release(final Object name, final FileChannel channel) {
        try {
            close(channel);
        } finally {
            if (name != null) {
                HELD.remove(name);
            }
        }
    }

    private static void close(final FileChannel channel) {
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (final IOException e) {
            throw new StoreException(ErrorCode.INTERNAL_ERROR, "cannot release a lock file", e);
        }
    }
}
