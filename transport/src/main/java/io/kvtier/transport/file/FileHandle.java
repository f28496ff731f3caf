package io.kvtier.transport.file;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.transport.IoThreads;
import io.kvtier.transport.TransportSegment;
import java.util.concurrent.RejectedExecutionException;

/**
 * The descriptors of one file: a buffered one, and a direct one where the file system can.
 *
 * <p>Both exist because a write whose edge is not a whole block cannot go past the page cache, and reading, changing
 * and rewriting the block by hand would lose a neighbour's write to it. The kernel keeps the two coherent: before a
 * direct read it flushes the cached pages of the range, after a direct write it drops them.
 *
 * <p><b>Blocking:</b> opening and closing, on the file system; a virtual thread has them done by another and parks.
 */
final class FileHandle implements TransportSegment {
    private final BlockFile buffered;
    private final BlockFile direct;
    private final IoThreads callers;

    private FileHandle(final BlockFile buffered, final BlockFile direct, final IoThreads callers) {
        this.buffered = buffered;
        this.direct = direct;
        this.callers = callers;
    }

    /**
     * Opens a file.
     *
     * @param opener     opens each descriptor.
     * @param path       which file.
     * @param wantDirect whether past the page cache too, where the file system can.
     * @param callers    open and close for virtual threads.
     */
    static FileHandle open(final FileOpener opener, final String path, final boolean wantDirect,
        final IoThreads callers) {
        return callers.call(() -> openHere(opener, path, wantDirect, callers));
    }

    private static FileHandle openHere(final FileOpener opener, final String path, final boolean wantDirect,
        final IoThreads callers) {
        final BlockFile buffered = opener.open(path, OpenMode.READ_WRITE);
        try {
            return new FileHandle(buffered, wantDirect ? openDirect(opener, path) : null, callers);
        } catch (final RuntimeException | Error e) {
            buffered.close();
            throw e;
        }
    }

    /** Null when the file system cannot: open(2) then fails with EINVAL. */
    private static BlockFile openDirect(final FileOpener opener, final String path) {
        try {
            return opener.open(path, OpenMode.READ_WRITE_DIRECT);
        } catch (final ErrnoException e) {
            if (e.errno() == Errno.EINVAL || e.errno() == Errno.EOPNOTSUPP) {
                return null;
            }
            throw e;
        }
    }

    BlockFile buffered() {
        return buffered;
    }

    /** Null when the file is only read and written through the page cache. */
    BlockFile direct() {
        return direct;
    }

    /**
     * By which what was written is made durable: that by which whole blocks are written. A descriptor is as good as any
     * other one of the file on a disk of this host, but not on every file system of several: there it can be that only
     * what was written by a descriptor is made durable by it, and that only it hears of what was lost.
     */
    BlockFile forSync() {
        return direct == null ? buffered : direct;
    }

    @Override
    public long byteSize() {
        return buffered.size();
    }

    @Override
    public void close() {
        try {
            callers.call(() -> {
                closeHere();
                return null;
            });
        } catch (final RejectedExecutionException e) {
            // Its transport went first.
            closeHere();
        }
    }

    private void closeHere() {
        try {
            buffered.close();
        } finally {
            if (direct != null) {
                direct.close();
            }
        }
    }
}
