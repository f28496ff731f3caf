package io.kvtier.transport.rpc;

import io.kvtier.transport.Uninterrupted;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Collects frames and writes them to a stream, as many as there are in one call.
 *
 * <p><b>Threading:</b> thread-safe. Adding never blocks on the stream: it fills one buffer while another is written.
 */
final class FrameOutput {
    private static final int FIRST_BYTES = 4096;
    private static final byte[] EMPTY = {};
    /** A buffer that was larger once is given to the collector, not kept for the next small frames. */
    private static final int KEPT_BYTES = 256 << 10;
    /** Most bytes of one write: each that ends tells that the peer reads. */
    private static final int PIECE_BYTES = 1 << 20;

    /**
     * What large buffers of several outputs may take together. Small ones are not counted: as many as there are
     * connections.
     *
     * <p><b>Threading:</b> thread-safe.
     */
    static final class Budget {
        private final long limit;
        private final AtomicLong taken = new AtomicLong();

        Budget(final long limit) {
            this.limit = limit;
        }

        /** Changes a buffer's size; false when that would be too much, and nothing was changed. */
        boolean tryResize(final int from, final int to) {
            final long more = counted(to) - counted(from);
            if (taken.addAndGet(more) > limit && more > 0) {
                taken.addAndGet(-more);
                return false;
            }
            return true;
        }

        long taken() {
            return taken.get();
        }

        private static long counted(final int bytes) {
            return bytes > KEPT_BYTES ? bytes : 0;
        }
    }

    private final OutputStream out;
    private final int maxPending;
    private final Budget budget;
    private final ReentrantLock fillLock = new ReentrantLock();
    private final ReentrantLock writeLock = new ReentrantLock();
    private byte[] filling = new byte[FIRST_BYTES];
    private byte[] spare = new byte[FIRST_BYTES];
    private int filled;
    /** When the piece that is just written was begun, of {@link System#nanoTime()}; 0 for none. */
    private volatile long writingSince;
    /** When the time of who is just writing is over, of {@link System#nanoTime()}; 0 for nobody, or without limit. */
    private volatile long writeBy;
    private boolean closed;

    /**
     * Over a stream, with a budget of its own.
     *
     * @param out        the stream.
     * @param maxPending bytes that may wait to be written; who adds more has a peer that does not read.
     */
    FrameOutput(final OutputStream out, final int maxPending) {
        this(out, maxPending, new Budget(Long.MAX_VALUE));
    }

    /** The same with a budget that it shares, and to which it is {@linkplain #close given back}. */
    FrameOutput(final OutputStream out, final int maxPending, final Budget budget) {
        this.out = out;
        this.maxPending = maxPending;
        this.budget = budget;
    }

    /** Adds a frame; false when too much is waiting already, and nothing was added. */
    boolean add(final int type, final int code, final long id, final long limitMs, final byte[] body) {
        return add(type, code, id, limitMs, body, body.length);
    }

    /** The same with a body that is the beginning of an array. */
    boolean add(final int type, final int code, final long id, final long limitMs, final byte[] body,
        final int length) {
        fillLock.lock();
        try {
            final int needed = RpcFrame.HEADER_BYTES + length;
            if (closed || filled > 0 && filled > maxPending - needed || !ensureRoom(needed)) {
                return false;
            }
            RpcFrame.put(filling, filled, type, code, id);
            RpcFrame.putSizes(filling, filled, (int) Math.min(limitMs, Integer.MAX_VALUE), length);
            System.arraycopy(body, 0, filling, filled + RpcFrame.HEADER_BYTES, length);
            filled += needed;
            return true;
        } finally {
            fillLock.unlock();
        }
    }

    private boolean ensureRoom(final int needed) {
        if (filling.length - filled < needed) {
            final int length = Math.max(filled + needed, 2 * filling.length);
            if (!budget.tryResize(filling.length, length)) {
                return false;
            }
            byte[] larger = null;
            try {
                larger = Arrays.copyOf(filling, length);
            } finally {
                if (larger == null) {
                    // There was no memory.
                    budget.tryResize(length, filling.length);
                }
            }
            filling = larger;
        }
        return true;
    }

    /** How long the peer has not taken a piece that is being written, in nanoseconds; 0 when none is. */
    long stalledNanos() {
        final long since = writingSince;
        return since == 0 ? 0 : System.nanoTime() - since;
    }

    /** Takes nothing any more, and gives back what was taken of the budget; of what is just written, when that ends. */
    void close() {
        fillLock.lock();
        try {
            if (!closed) {
                closed = true;
                budget.tryResize(filling.length, 0);
                filling = EMPTY;
                filled = 0;
            }
        } finally {
            fillLock.unlock();
        }
    }

    /** Whether somebody writes whose time is limited. */
    boolean isLimited() {
        return writeBy != 0;
    }

    /** Whether somebody still writes whose time is over: his peer does not read. */
    boolean isLate() {
        final long by = writeBy;
        return by != 0 && System.nanoTime() - by >= 0;
    }

    /** Writes what was added; blocks while the peer does not read. */
    void flush() throws IOException {
        writeLock.lock();
        try {
            flushLocked();
        } finally {
            writeLock.unlock();
        }
    }

    /**
     * The same for somebody whose time is limited. He waits no longer than that for others who write; when he writes
     * himself, only the end of the stream ends it.
     *
     * @param deadline of {@link System#nanoTime()}.
     * @param watch    is told before it begins to write, when {@link #isLimited()}: to look at {@link #isLate()}.
     * @return false when others were writing all the time; what was added may be written later.
     */
    boolean flush(final long deadline, final Runnable watch) throws IOException {
        if (!lockBy(deadline)) {
            return false;
        }
        try {
            // The lowest bit is set, so that no moment is taken for none.
            writeBy = deadline | 1;
            watch.run();
            flushLocked();
            return true;
        } finally {
            writeBy = 0;
            writeLock.unlock();
        }
    }

    /** An interrupt does not end the wait; it is kept for the caller. */
    private boolean lockBy(final long deadline) {
        if (writeLock.tryLock()) {
            return true;
        }
        return Uninterrupted.get(() -> writeLock.tryLock(deadline - System.nanoTime(), TimeUnit.NANOSECONDS));
    }

    private void flushLocked() throws IOException {
        while (true) {
            final byte[] full;
            final int count;
            fillLock.lock();
            try {
                if (filled == 0) {
                    return;
                }
                full = filling;
                count = filled;
                filling = spare;
                filled = 0;
            } finally {
                fillLock.unlock();
            }
            try {
                write(full, count);
            } finally {
                budget.tryResize(full.length, 0);
                spare = full.length <= KEPT_BYTES ? full : new byte[FIRST_BYTES];
            }
        }
    }

    private void write(final byte[] bytes, final int count) throws IOException {
        try {
            for (int from = 0; from < count; from += PIECE_BYTES) {
                // The lowest bit is set, so that no moment is taken for none.
                writingSince = System.nanoTime() | 1;
                out.write(bytes, from, Math.min(PIECE_BYTES, count - from));
            }
        } finally {
            writingSince = 0;
        }
    }
}
