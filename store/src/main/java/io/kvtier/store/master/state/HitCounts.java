package io.kvtier.store.master.state;

import io.kvtier.store.ObjectKey;

/**
 * About how often objects were read lately: a count-min sketch (Cormode and Muthukrishnan, 2005) of four rows of small
 * counters, halved now and then so that old reads count less and less, as in TinyLFU (Einziger et al., 2017). An object
 * is never counted too low, but for the halving; one that shares all its counters with others is counted too high.
 */
final class HitCounts {
    private static final int ROWS = 4;
    private static final int WIDTH = 1 << 12;
    private static final int MOST = 255;
    /** Reads after which all counters are halved. */
    private static final int PERIOD = 16 * WIDTH;
    private static final long[] MULTIPLIERS =
        {0x9E3779B97F4A7C15L, 0xC2B2AE3D27D4EB4FL, 0x165667B19E3779F9L, 0xD6E8FEB86659FD93L};

    private final byte[][] counts = new byte[ROWS][WIDTH];
    private int reads;

    /** Counts a read; how often there have been, this one included, at most 255. */
    int read(final ObjectKey key) {
        if (++reads >= PERIOD) {
            halve();
        }
        int least = MOST;
        for (int row = 0; row < ROWS; row++) {
            final int slot = slot(key, row);
            final int count = Math.min(MOST, (counts[row][slot] & MOST) + 1);
            counts[row][slot] = (byte) count;
            least = Math.min(least, count);
        }
        return least;
    }

    private void halve() {
        reads = 0;
        for (final byte[] row : counts) {
            for (int slot = 0; slot < WIDTH; slot++) {
                row[slot] = (byte) ((row[slot] & MOST) >>> 1);
            }
        }
    }

    private static int slot(final ObjectKey key, final int row) {
        // The upper half of the product depends on all bits of the hash.
        final long mixed = key.hashCode() * MULTIPLIERS[row];
        return (int) (mixed >>> Long.SIZE - Integer.numberOfTrailingZeros(WIDTH));
    }
}
