package io.kvtier.store.cli.bench;

import io.kvtier.transport.Direction;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/**
 * Requests that are handed over together, the next ones when all of them have ended.
 *
 * @param direction    which way.
 * @param blockBytes   how long each is.
 * @param count        how many.
 * @param segmentBytes size of what is read or written.
 */
record BatchShape(Direction direction, long blockBytes, int count, long segmentBytes) {
    private static final double MIB = 1 << 20;
    private static final double NANOS = TimeUnit.SECONDS.toNanos(1);

    /** The start of a random block. */
    long offset(final SplittableRandom random) {
        return random.nextLong(segmentBytes / blockBytes) * blockBytes;
    }

    /** Moves one batch after the other for some time; MiB a second. */
    double mebibytesPerSecond(final Runnable batch, final long nanos) {
        final long start = System.nanoTime();
        final long end = start + nanos;
        long batches = 0;
        long now;
        do {
            batch.run();
            batches++;
            now = System.nanoTime();
        } while (now < end);
        return batches * count * blockBytes / MIB * NANOS / (now - start);
    }
}
