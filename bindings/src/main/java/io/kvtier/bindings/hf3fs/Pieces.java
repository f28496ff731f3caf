package io.kvtier.bindings.hf3fs;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Pieces of a caller's memory as one range of bytes, one piece behind the other.
 *
 * <p><b>Threading:</b> one thread.
 */
final class Pieces {
    private final List<MemorySegment> pieces;
    /** Where each begins, and where the last ends. */
    private final long[] starts;

    Pieces(final List<MemorySegment> pieces) {
        this.pieces = pieces;
        starts = new long[pieces.size() + 1];
        for (int i = 0; i < pieces.size(); i++) {
            starts[i + 1] = Math.addExact(starts[i], pieces.get(i).byteSize());
        }
    }

    long byteSize() {
        return starts[pieces.size()];
    }

    /** Copies a part of these into other memory. */
    void copyTo(final long from, final MemorySegment target, final long targetOffset, final long length) {
        long done = 0;
        for (int i = indexOf(from); done < length; i++) {
            final long within = from + done - starts[i];
            final long count = Math.min(length - done, starts[i + 1] - from - done);
            MemorySegment.copy(pieces.get(i), within, target, targetOffset + done, count);
            done += count;
        }
    }

    /** Copies other memory into a part of these. */
    void copyFrom(final long to, final MemorySegment source, final long sourceOffset, final long length) {
        long done = 0;
        for (int i = indexOf(to); done < length; i++) {
            final long within = to + done - starts[i];
            final long count = Math.min(length - done, starts[i + 1] - to - done);
            MemorySegment.copy(source, sourceOffset + done, pieces.get(i), within, count);
            done += count;
        }
    }

    /** The last piece that begins at a place or before it; empty ones before it are passed over. */
    private int indexOf(final long at) {
        int low = 0;
        int high = pieces.size() - 1;
        while (low < high) {
            final int middle = (low + high + 1) >>> 1;
            if (starts[middle] <= at) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }
}
