package io.kvtier.bindings.hf3fs;

/**
 * How a {@link UsrbioChannel} is made. Shared memory, which comes out of {@code /dev/shm}, is at most {@code lanes} ×
 * {@code depth} × {@code blockBytes}: 32 MiB by default.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param lanes      transfers at the same time, 1 to 1,024; more wait for each other. A lane is made when it is needed.
 * @param depth      blocks of one transfer that are in flight at the same time, 1 to 1,024.
 * @param blockBytes most bytes of one entry: whole pages of 4 KiB, to 1 GiB.
 * @param silenceMs  a transfer is given up when none of its entries has ended for so many milliseconds, from 1.
 * @param awaitWrites whether a write is not given up but waited for on and on, until the channel is closed: what who
 *                   gives the same room of a file to another value afterwards wants.
 * @param numa       node that shared memory is moved to; -1 for wherever it is.
 */
public record UsrbioOptions(int lanes, int depth, int blockBytes, long silenceMs, boolean awaitWrites, int numa) {
    /** Four lanes of eight blocks of 1 MiB, and half a minute of silence. */
    public static final UsrbioOptions DEFAULT = new UsrbioOptions(4, 8, 1 << 20, 30_000, false, -1);

    private static final int MOST = 1024;
    private static final int PAGE_BYTES = 4096;
    private static final int MAX_BLOCK_BYTES = 1 << 30;

    /**
     * Checks every value.
     *
     * @param lanes      1 to 1,024.
     * @param depth      1 to 1,024.
     * @param blockBytes a multiple of 4,096, to 1 GiB.
     * @param silenceMs  1 or more.
     * @param awaitWrites either.
     * @param numa       -1 to 1023.
     */
    public UsrbioOptions {
        checkCount("lanes", lanes);
        checkCount("depth", depth);
        if (blockBytes < PAGE_BYTES || blockBytes > MAX_BLOCK_BYTES || blockBytes % PAGE_BYTES != 0) {
            throw new IllegalArgumentException("blockBytes " + blockBytes + " must be a multiple of " + PAGE_BYTES
                + " up to " + MAX_BLOCK_BYTES);
        }
        if (silenceMs < 1) {
            throw new IllegalArgumentException("silenceMs " + silenceMs + " must be 1 or more");
        }
        IoRingOptions.checkNuma(numa);
    }

    /**
     * The same with writes that are waited for.
     *
     * @return the options.
     */
    public UsrbioOptions withAwaitedWrites() {
        return new UsrbioOptions(lanes, depth, blockBytes, silenceMs, true, numa);
    }

    private static void checkCount(final String name, final int value) {
        if (value < 1 || value > MOST) {
            throw new IllegalArgumentException(name + " " + value + " must be from 1 to " + MOST);
        }
    }
}
