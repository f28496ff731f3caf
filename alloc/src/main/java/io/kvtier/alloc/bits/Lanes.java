package io.kvtier.alloc.bits;

/**
 * Cursors and counters, one set for each lane; threads are spread over lanes so that two of them seldom write the same
 * cache line.
 *
 * <pre>
 *   lane i, 128 bytes:  | cursor | hint | allocated | freed | padding ... |
 * </pre>
 *
 * <p>{@code allocated} and {@code freed} only grow, by as many units as were claimed and given back. Their sums differ
 * by what is allocated, and the sum of {@code freed} is an epoch: it is the same at two moments exactly when nothing
 * was given back between them, since no lane's counter ever goes down. A claim that gave its units back counts in both.
 * {@code cursor} and {@code hint} are advice, written without care for races.
 *
 * <p>With one lane nothing depends on the thread. 128 bytes, because processors fetch lines in pairs.
 *
 * <p><b>Threading:</b> thread-safe and wait-free. <b>Source:</b> striping after {@code java.util.concurrent.atomic
 * .LongAdder}, without its growing and its probing.
 */
public final class Lanes {
    /** The most lanes there can be. */
    public static final int MAX_LANES = 1024;

    private static final int STRIDE = 16;
    private static final int CURSOR = 0;
    private static final int HINT = 1;
    private static final int ALLOCATED = 2;
    private static final int FREED = 3;

    private final AtomicWords words;
    private final int base;
    private final int lanes;

    /**
     * Lanes over words that are still zero.
     *
     * @param words where they live.
     * @param base  index of the first of {@link #words(int)} words.
     * @param lanes how many, a power of two from 1 to {@link #MAX_LANES}.
     */
    public Lanes(final AtomicWords words, final int base, final int lanes) {
        this.words = words;
        this.base = base;
        this.lanes = lanes;
    }

    /**
     * Refuses a number of lanes that cannot be.
     *
     * @param lanes the number.
     * @return the same.
     * @throws IllegalArgumentException unless it is a power of two from 1 to {@link #MAX_LANES}.
     */
    public static int checked(final int lanes) {
        if (lanes < 1 || lanes > MAX_LANES || Integer.bitCount(lanes) != 1) {
            throw new IllegalArgumentException("lanes is " + lanes + ", but must be a power of two from 1 to "
                + MAX_LANES + ": take 1 for placement that depends on calls alone, else about one a processor");
        }
        return lanes;
    }

    /**
     * A number of lanes that suits this machine: several for each processor, because threads get a lane by their
     * number, and two that are busy together should seldom get the same.
     *
     * @return a power of two, 16 at least and 256 at most.
     */
    public static int suited() {
        final int wanted = Math.clamp(Runtime.getRuntime().availableProcessors() * 4L, 16, 256);
        return Integer.highestOneBit(wanted - 1) << 1;
    }

    /**
     * How many words lanes take.
     *
     * @param lanes how many lanes.
     * @return words.
     */
    public static int words(final int lanes) {
        return lanes * STRIDE;
    }

    /**
     * How many lanes there are.
     *
     * @return the number given at construction.
     */
    public int count() {
        return lanes;
    }

    /**
     * The lane of the calling thread.
     *
     * @return from 0 to before {@link #count()}.
     */
    public int mine() {
        return lanes == 1 ? 0 : (int) Thread.currentThread().threadId() & lanes - 1;
    }

    /**
     * Reads a lane's cursor.
     *
     * @param lane which lane.
     * @return what was last written.
     */
    public long cursor(final int lane) {
        return words.get(base + lane * STRIDE + CURSOR);
    }

    /**
     * Writes a lane's cursor.
     *
     * @param lane  which lane.
     * @param value the new value.
     */
    public void cursor(final int lane, final long value) {
        words.setRelease(base + lane * STRIDE + CURSOR, value);
    }

    /**
     * Reads a lane's hint.
     *
     * @param lane which lane.
     * @return what was last written, 0 at first.
     */
    public long hint(final int lane) {
        return words.get(base + lane * STRIDE + HINT);
    }

    /**
     * Writes a lane's hint.
     *
     * @param lane  which lane.
     * @param value the new value.
     */
    public void hint(final int lane, final long value) {
        words.setRelease(base + lane * STRIDE + HINT, value);
    }

    /**
     * Counts units as allocated.
     *
     * @param lane  which lane.
     * @param units how many.
     */
    public void countAllocated(final int lane, final long units) {
        words.getAndAdd(base + lane * STRIDE + ALLOCATED, units);
    }

    /**
     * Counts units as given back; to be called when they can be found again.
     *
     * @param lane  which lane.
     * @param units how many.
     */
    public void countFreed(final int lane, final long units) {
        words.getAndAdd(base + lane * STRIDE + FREED, units);
    }

    /**
     * The epoch.
     *
     * @return the sum of all units given back so far; equal at two moments only if nothing was between them.
     */
    public long freed() {
        return sum(FREED);
    }

    /**
     * What is allocated.
     *
     * @return units; exact when no call is running, else within what the running calls claim and give back.
     */
    public long allocated() {
        // Freed first: what is seen as given back has been seen as allocated, so the difference is never negative.
        final long freed = sum(FREED);
        return sum(ALLOCATED) - freed;
    }

    private long sum(final int field) {
        long sum = 0;
        for (int lane = 0; lane < lanes; lane++) {
            sum += words.get(base + lane * STRIDE + field);
        }
        return sum;
    }
}
