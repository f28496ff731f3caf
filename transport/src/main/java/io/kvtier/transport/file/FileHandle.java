package io.kvtier.transport.file;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.transport.TransportSegment;

/**
 * The descriptors of one file: a buffered one, and a direct one where the file system can.
 *
 * <p>Both exist because a write whose edge is not a whole block cannot go past the page cache, and reading, changing
 * and rewriting the block by hand would lose a neighbour's write to it. The kernel keeps the two coherent: before a
 * direct read it flushes the cached pages of the range, after a direct write it drops them.
 */
final class FileHandle implements TransportSegment {
    private final BlockFile buffered;
    private final BlockFile direct;

    private FileHandle(final BlockFile buffered, final BlockFile direct) {
        this.buffered = buffered;
        this.direct = direct;
    }

    static FileHandle open(final FileOpener opener, final String path, final boolean wantDirect) {
        final BlockFile buffered = opener.open(path, OpenMode.READ_WRITE);
        try {
            return new FileHandle(buffered, wantDirect ? openDirect(opener, path) : null);
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

    @Override
    public long byteSize() {
        return buffered.size();
    }

    @Override
    public void close() {
        try {
            buffered.close();
        } finally {
            if (direct != null) {
                direct.close();
            }
        }
    }
}
