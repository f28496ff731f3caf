package io.kvtier.transport.file;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/**
 * Staging memory for those who move slices with calls that block: page-aligned pieces of one region, which take memory
 * of the system when first used.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> closed after the last piece was put back. <b>Blocking:</b>
 * {@link #take} until a piece is there; each is held for the length of a slice, and whoever holds one waits for nothing
 * else meanwhile.
 */
final class BouncePool implements AutoCloseable {
    private final HostRegion region;
    private final BlockingQueue<MemorySegment> pieces;
    private final long pieceBytes;

    BouncePool(final int count, final long pieceBytes) {
        this.pieceBytes = pieceBytes;
        region = HostRegion.allocate(NativeTag.BOUNCE, count * pieceBytes);
        pieces = new ArrayBlockingQueue<>(count);
        for (int i = 0; i < count; i++) {
            pieces.add(region.segment().asSlice(i * pieceBytes, pieceBytes));
        }
    }

    long pieceBytes() {
        return pieceBytes;
    }

    /** Takes a piece. An interrupt does not end the wait, for the slice has to end; it is kept for the caller. */
    MemorySegment take() {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return pieces.take();
                } catch (final InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Takes a piece when there is one. */
    MemorySegment poll() {
        return pieces.poll();
    }

    void put(final MemorySegment piece) {
        pieces.add(piece);
    }

    @Override
    public void close() {
        region.close();
    }
}
