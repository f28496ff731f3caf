package io.kvtier.transport.tcp;

import io.kvtier.alloc.HostMemory;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Byte buffers over regions, which is what channels take. A buffer covers a window of up to 2 GiB that begins at a
 * multiple of 1 GiB, so that any piece of nearly 1 GiB lies in one; each is made once and used again for every piece
 * of its window. A place holds the last windows that were asked for at it: the pieces of one gathered write must not
 * share a buffer, so each has a place of its own.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> keeps the objects of regions reachable until they are displaced or
 * {@link #clear()} is called, but not their memory mapped.
 */
final class Views {
    /** The JDK makes no buffer of the last eight bytes below 2 GiB. */
    private static final long MAX_BUFFER = Integer.MAX_VALUE - 8;
    private static final int WINDOW_SHIFT = 30;
    /** Longest piece: from any place in the first half of a window it ends inside. */
    static final long MAX_PIECE = MAX_BUFFER - (1L << WINDOW_SHIFT);

    private static final int WAYS = 4;

    private final HostMemory[] regions;
    private final long[] windows;
    private final ByteBuffer[] buffers;
    private final int[] oldest;

    Views(final int places) {
        regions = new HostMemory[places * WAYS];
        windows = new long[places * WAYS];
        buffers = new ByteBuffer[places * WAYS];
        oldest = new int[places];
    }

    /** The buffer of a place, set to a piece of a region; good until the place is used again. */
    ByteBuffer at(final int place, final HostMemory region, final long offset, final long length) {
        final long window = offset >>> WINDOW_SHIFT;
        final ByteBuffer buffer = find(place * WAYS, region, window);
        final int start = (int) (offset - (window << WINDOW_SHIFT));
        final ByteBuffer found = buffer != null ? buffer : make(place, region, window);
        return found.limit(start + (int) length).position(start);
    }

    void clear() {
        Arrays.fill(regions, null);
        Arrays.fill(buffers, null);
    }

    private ByteBuffer find(final int first, final HostMemory region, final long window) {
        for (int i = first; i < first + WAYS; i++) {
            if (regions[i] == region && windows[i] == window) {
                return buffers[i];
            }
        }
        return null;
    }

    private ByteBuffer make(final int place, final HostMemory region, final long window) {
        final int at = place * WAYS + oldest[place];
        oldest[place] = (oldest[place] + 1) % WAYS;
        final long start = window << WINDOW_SHIFT;
        final long length = Math.min(MAX_BUFFER, region.byteSize() - start);
        regions[at] = region;
        windows[at] = window;
        buffers[at] = region.segment().asSlice(start, length).asByteBuffer();
        return buffers[at];
    }
}
