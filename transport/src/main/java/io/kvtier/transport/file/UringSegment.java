package io.kvtier.transport.file;

import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.bindings.uring.UringFile;
import io.kvtier.bindings.uring.UringRing;
import io.kvtier.transport.TransportSegment;
import java.util.List;

/**
 * The descriptors of one file, and how each ring names them.
 *
 * <p><b>Threading:</b> opening and closing are for any thread; what a ring knows is touched by the ring's thread only,
 * at the ring's place of the arrays. <b>Blocking:</b> closing waits for the rings to let go of the descriptors, which
 * they do between two waits.
 */
final class UringSegment implements TransportSegment {
    private final FileHandle handle;
    private final PosixFile buffered;
    private final PosixFile direct;
    private final UringFile[] bufferedOf;
    private final UringFile[] directOf;
    private final List<UringWorker> workers;
    private final long timeoutMs;

    private UringSegment(final FileHandle handle, final PosixFile buffered, final PosixFile direct,
        final List<UringWorker> workers, final long timeoutMs) {
        this.handle = handle;
        this.buffered = buffered;
        this.direct = direct;
        this.workers = workers;
        this.timeoutMs = timeoutMs;
        bufferedOf = new UringFile[workers.size()];
        directOf = new UringFile[workers.size()];
    }

    /**
     * Takes an open file.
     *
     * @param handle    closed with the segment, and when this throws.
     * @param opener    opened it.
     * @param workers   the rings.
     * @param timeoutMs milliseconds to wait for each ring to let go of it.
     */
    static UringSegment of(final FileHandle handle, final FileOpener opener, final List<UringWorker> workers,
        final long timeoutMs) {
        try {
            final PosixFile buffered = opener.descriptor(handle.buffered());
            final PosixFile direct = handle.direct() == null ? null : opener.descriptor(handle.direct());
            if (buffered == null || handle.direct() != null && direct == null) {
                throw new IllegalArgumentException(handle.buffered().path()
                    + " has no descriptor that a ring could name: it was opened by " + opener);
            }
            return new UringSegment(handle, buffered, direct, workers, timeoutMs);
        } catch (final RuntimeException | Error e) {
            handle.close();
            throw e;
        }
    }

    FileHandle handle() {
        return handle;
    }

    /** Whether a ring knows one of the files. */
    boolean isKnown(final int worker) {
        return directOf[worker] != null || bufferedOf[worker] != null;
    }

    /**
     * A file as a ring names it; makes it known to the ring when it is not yet.
     *
     * @param worker   index of the ring.
     * @param ring     the ring; the caller is its thread.
     * @param byDirect whether the direct descriptor is meant.
     */
    UringFile named(final int worker, final UringRing ring, final boolean byDirect) {
        final UringFile[] known = byDirect ? directOf : bufferedOf;
        if (known[worker] == null) {
            known[worker] = ring.attach(byDirect ? direct : buffered);
        }
        return known[worker];
    }

    /** Takes the files off a ring; on the ring's thread, with no operation on them open. */
    void detach(final int worker) {
        final UringFile first = directOf[worker];
        final UringFile second = bufferedOf[worker];
        forget(worker);
        try {
            if (first != null) {
                first.close();
            }
        } finally {
            if (second != null) {
                second.close();
            }
        }
    }

    /** The ring is gone, and with it what it knew. */
    void forget(final int worker) {
        directOf[worker] = null;
        bufferedOf[worker] = null;
    }

    @Override
    public long byteSize() {
        return handle.byteSize();
    }

    @Override
    public void close() {
        try {
            // No slice is under way, so what the rings know of the files does not change. A ring that does not answer
            // keeps its references, and so the descriptors open, until it goes.
            UringWorker.awaitAll(UringWorker.tellAll(workers.stream().filter(worker -> isKnown(worker.index()))
                .toList(), worker -> worker.detach(this)), timeoutMs);
        } finally {
            handle.close();
        }
    }
}
