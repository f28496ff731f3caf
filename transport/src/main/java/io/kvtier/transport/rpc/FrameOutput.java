package io.kvtier.transport.rpc;

import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Collects frames and writes them to a stream, as many as there are in one call.
 *
 * <p><b>Threading:</b> thread-safe. Adding never blocks on the stream: it fills one buffer while another is written.
 */
final class FrameOutput {
    private static final int FIRST_BYTES = 4096;
    /** A buffer that was larger once is given to the collector, not kept for the next small frames. */
    private static final int KEPT_BYTES = 256 << 10;

    private final OutputStream out;
    private final int maxPending;
    private final ReentrantLock fillLock = new ReentrantLock();
    private final ReentrantLock writeLock = new ReentrantLock();
    private byte[] filling = new byte[FIRST_BYTES];
    private byte[] spare = new byte[FIRST_BYTES];
    private int filled;

    /**
     * Over a stream.
     *
     * @param out        the stream.
     * @param maxPending bytes that may wait to be written; who adds more has a peer that does not read.
     */
    FrameOutput(final OutputStream out, final int maxPending) {
        this.out = out;
        this.maxPending = maxPending;
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
            if (filled > 0 && filled > maxPending - needed) {
                return false;
            }
            if (filling.length - filled < needed) {
                final byte[] larger = new byte[Math.max(filled + needed, 2 * filling.length)];
                System.arraycopy(filling, 0, larger, 0, filled);
                filling = larger;
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

    /** Writes what was added; blocks while the peer does not read. */
    void flush() throws IOException {
        writeLock.lock();
        try {
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
                    out.write(full, 0, count);
                } finally {
                    spare = full.length <= KEPT_BYTES ? full : new byte[FIRST_BYTES];
                }
            }
        } finally {
            writeLock.unlock();
        }
    }
}
