package io.kvtier.store.storage;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Keeps a directory for one store, of this process or any other on the host, as long as it is open. The kernel gives
 * the lock up when the process dies; the empty lock file stays.
 */
final class DirectoryLock implements AutoCloseable {
    private static final String FILE_NAME = "LOCK";

    private final FileChannel channel;

    private DirectoryLock(final FileChannel channel) {
        this.channel = channel;
    }

    static DirectoryLock take(final Path directory) {
        final Path file = directory.resolve(FILE_NAME);
        FileChannel channel = null;
        try {
            channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            if (channel.tryLock() != null) {
                return new DirectoryLock(channel);
            }
            close(channel);
        } catch (final OverlappingFileLockException e) {
            close(channel);
        } catch (final IOException e) {
            close(channel);
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot write to directory " + directory
                + "; name a directory that this process may write", e);
        }
        throw new StoreException(ErrorCode.FILE_LOCK_FAIL, "directory " + directory
            + " is in use by another store (file " + FILE_NAME
            + " is locked); close that one or name another directory");
    }

    @Override
    public void close() {
        close(channel);
    }

    private static void close(final FileChannel channel) {
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (final IOException e) {
            throw new StoreException(ErrorCode.INTERNAL_ERROR, "cannot release the lock of a directory", e);
        }
    }
}
