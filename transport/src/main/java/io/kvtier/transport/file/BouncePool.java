package io.kvtier.transport.file;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.transport.Uninterrupted;
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
    /** Made once, since each slice takes a piece. */
    private final Uninterrupted.Result<MemorySegment> taking;
    private final long pieceBytes;

    BouncePool(final int count, final long pieceBytes) {
        this.pieceBytes = pieceBytes;
        region = HostRegion.allocate(NativeTag.BOUNCE, count * pieceBytes);
        pieces = new ArrayBlockingQueue<>(count);
        taking = pieces::take;
        for (int i = 0; i < count; i++) {
            pieces.add(region.segment().asSlice(i * pieceBytes, pieceBytes));
        }
    }

    long pieceBytes() {
        return pieceBytes;
    }

    /** Takes a piece. An interrupt does not end the wait, for the slice has to end; it is kept for the caller. */
    MemorySegment take() {
        return Uninterrupted.get(taking);
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
