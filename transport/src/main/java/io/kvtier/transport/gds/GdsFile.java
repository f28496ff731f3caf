package io.kvtier.transport.gds;

import io.kvtier.bindings.cufile.CuFileDriver;
import io.kvtier.bindings.cufile.CuFileHandle;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.transport.TransportSegment;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A file that is open and registered with cuFile.
 *
 * <p>A write that does not begin and end at whole blocks makes the library read, change and write back the block at its
 * edge. Two such writes to one block, side by side, could lose each other's bytes; the two halves of a request whose
 * border is in the middle of a block are such. So of the writes that share a block one waits for the other. A write
 * that is lost keeps its blocks: it may still write them back as they were. Who would change a part of one of them is
 * refused from then on, since there is nothing to wait for; all other writes go on.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> the registration ends with the last transfer on it.
 */
final class GdsFile implements TransportSegment {
    private static final int BLOCK_SHIFT = 12;
    private static final long BLOCK_MASK = (1L << BLOCK_SHIFT) - 1;

    private final PosixFile file;
    private final CuFileHandle handle;
    private final Executor inContext;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition freed = lock.newCondition();
    private final Set<Long> blocks = new HashSet<>();
    /** Of those, the ones that are never given back. */
    private final Set<Long> lost = new HashSet<>();

    /** What became of a wish for the blocks that a write changes in part. */
    enum Edges {
        /** They are the caller's. */
        TAKEN,
        /** Another write has one of them now. */
        BUSY,
        /** A write that is lost has one of them until the process ends. */
        LOST
    }

    private GdsFile(final PosixFile file, final CuFileHandle handle, final Executor inContext) {
        this.file = file;
        this.handle = handle;
        this.inContext = inContext;
    }

    /**
     * Opens and registers; the calling thread has a CUDA context.
     *
     * @param driver    an open driver.
     * @param path      of an existing file.
     * @param inContext runs closing in a thread that has one, and waits for it.
     */
    static GdsFile open(final CuFileDriver driver, final String path, final Executor inContext) {
        final PosixFile file = openFile(path);
        try {
            return new GdsFile(file, CuFileHandle.register(driver, file), inContext);
        } catch (final RuntimeException | Error e) {
            file.close();
            throw e;
        }
    }

    /** Where the file system cannot go past the page cache, the library may still take the file, and goes through. */
    private static PosixFile openFile(final String path) {
        try {
            return PosixFile.open(path, OpenMode.READ_WRITE_DIRECT);
        } catch (final ErrnoException e) {
            if (e.errno() == Errno.EINVAL || e.errno() == Errno.EOPNOTSUPP) {
                return PosixFile.open(path, OpenMode.READ_WRITE);
            }
            throw e;
        }
    }

    CuFileHandle handle() {
        return handle;
    }

    /** Makes durable what was written. */
    void sync() {
        file.sync();
    }

    @Override
    public long byteSize() {
        return file.size();
    }

    /** Takes the blocks that a write changes in part; all of them or none. */
    Edges tryTakeEdges(final long offset, final long length) {
        if (((offset | length) & BLOCK_MASK) == 0) {
            return Edges.TAKEN;
        }
        lock.lock();
        try {
            return takeEdges(offset, offset + length);
        } finally {
            lock.unlock();
        }
    }

    /**
     * As {@link #tryTakeEdges}, and waits for those who have them, who hold nothing that the caller could have.
     *
     * @return TAKEN or LOST.
     */
    Edges awaitEdges(final long offset, final long length) {
        if (((offset | length) & BLOCK_MASK) == 0) {
            return Edges.TAKEN;
        }
        lock.lock();
        try {
            Edges edges = takeEdges(offset, offset + length);
            while (edges == Edges.BUSY) {
                freed.awaitUninterruptibly();
                edges = takeEdges(offset, offset + length);
            }
            return edges;
        } finally {
            lock.unlock();
        }
    }

    /** Gives back what taking the edges of this range took. */
    void giveEdges(final long offset, final long length) {
        if (((offset | length) & BLOCK_MASK) == 0) {
            return;
        }
        final long end = offset + length;
        lock.lock();
        try {
            if ((offset & BLOCK_MASK) != 0) {
                blocks.remove(offset >>> BLOCK_SHIFT);
            }
            if ((end & BLOCK_MASK) != 0) {
                blocks.remove(end >>> BLOCK_SHIFT);
            }
            freed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** What taking the edges of this range took is never given back. */
    void loseEdges(final long offset, final long length) {
        final long end = offset + length;
        lock.lock();
        try {
            if ((offset & BLOCK_MASK) != 0) {
                lost.add(offset >>> BLOCK_SHIFT);
            }
            if ((end & BLOCK_MASK) != 0) {
                lost.add(end >>> BLOCK_SHIFT);
            }
            freed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private Edges takeEdges(final long start, final long end) {
        final boolean head = (start & BLOCK_MASK) != 0;
        final boolean tail = (end & BLOCK_MASK) != 0;
        if (head && lost.contains(start >>> BLOCK_SHIFT) || tail && lost.contains(end >>> BLOCK_SHIFT)) {
            return Edges.LOST;
        }
        if (head && blocks.contains(start >>> BLOCK_SHIFT) || tail && blocks.contains(end >>> BLOCK_SHIFT)) {
            return Edges.BUSY;
        }
        if (head) {
            blocks.add(start >>> BLOCK_SHIFT);
        }
        if (tail) {
            blocks.add(end >>> BLOCK_SHIFT);
        }
        return Edges.TAKEN;
    }

    @Override
    public void close() {
        inContext.execute(() -> {
            try {
                handle.close();
            } finally {
                file.close();
            }
        });
    }
}
