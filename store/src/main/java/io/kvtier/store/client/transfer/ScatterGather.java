package io.kvtier.store.client.transfer;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** A caller's pieces of memory, seen as one run of bytes. */
public final class ScatterGather {
    private static final Thread OTHER = Thread.ofPlatform().daemon().unstarted(() -> { });

    private ScatterGather() {
    }

    /** Bytes of all pieces together. */
    public static long byteSize(final List<MemorySegment> pieces) {
        long sum = 0;
        for (int i = 0; i < pieces.size(); i++) {
            sum += pieces.get(i).byteSize();
        }
        return sum;
    }

    /** Copies all pieces, in order, to one place. */
    public static void gather(final List<MemorySegment> pieces, final MemorySegment to, final long offset) {
        long at = offset;
        for (int i = 0; i < pieces.size(); i++) {
            final MemorySegment piece = pieces.get(i);
            MemorySegment.copy(piece, 0, to, at, piece.byteSize());
            at += piece.byteSize();
        }
    }

    /** Copies bytes from one place into the pieces, in order, until there are no more. */
    public static void scatter(final MemorySegment from, final long offset, final long length,
        final List<MemorySegment> pieces) {
        long at = offset;
        long left = length;
        for (int i = 0; i < pieces.size() && left > 0; i++) {
            final MemorySegment piece = pieces.get(i);
            final long count = Math.min(piece.byteSize(), left);
            MemorySegment.copy(from, at, piece, 0, count);
            at += count;
            left -= count;
        }
    }

    /** Whether a transfer may use the memory itself: it does not move, and any thread may touch it. */
    public static boolean isShared(final MemorySegment piece) {
        return piece.isNative() && piece.isAccessibleBy(OTHER);
    }

    /** Refuses memory that only the calling thread may touch. */
    public static void requireShared(final List<MemorySegment> pieces) {
        for (int i = 0; i < pieces.size(); i++) {
            if (!pieces.get(i).isAccessibleBy(OTHER)) {
                throw new StoreException(ErrorCode.INVALID_PARAMS, "piece " + i + " of the memory belongs to a "
                    + "confined arena, but an asynchronous call runs on another thread; use a shared or automatic one");
            }
        }
    }
}
