package io.kvtier.store.cli.bench;

import io.kvtier.alloc.HostRegion;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.HdrHistogram.Histogram;

/**
 * Streams of puts of new keys by one thread, far past what memory holds. Memory is full when a stream begins, so that
 * nothing of it is free; what was put before it is removed. Every value has a stamp of its own, and after a stream some
 * of all parts of it are fetched and checked, each of them one that was taken.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> all that it uses belongs to the rig.
 */
final class SustainedPuts {
    /** So much of memory is put in a stream. */
    static final int TIMES = 4;

    private static final double MIB = 1 << 20;
    private static final double SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final double TAIL = 99;
    private static final double MIDDLE = 50;
    private static final int DIGITS = 3;
    private static final int CHECKED = 64;
    /** Values of a caller, in turns: what is put is not always what the processor has just had. */
    private static final int BUFFERS = 16;

    private final Store store;
    private final long memoryBytes;
    private final long valueBytes;
    private final MemorySegment buffers;
    private long number;

    /**
     * What came of a stream.
     *
     * @param mebibytesPerSecond of what was taken.
     * @param takenShare         of the puts; 1 when none was refused.
     * @param p99Nanos           99 of 100 puts took no longer, refused ones included.
     * @param medianNanos        half of them took no longer.
     */
    record Stream(double mebibytesPerSecond, double takenShare, double p99Nanos, double medianNanos) {
        /** How often the median goes into what 99 of 100 keep. */
        double tailTimes() {
            return p99Nanos / medianNanos;
        }
    }

    private SustainedPuts(final Store store, final long memoryBytes, final long valueBytes,
        final MemorySegment buffers) {
        this.store = store;
        this.memoryBytes = memoryBytes;
        this.valueBytes = valueBytes;
        this.buffers = buffers;
    }

    /** Nothing is put yet. */
    static SustainedPuts open(final Rig rig, final Workspace workspace, final Store store, final long memoryBytes,
        final long valueBytes) {
        final HostRegion region = rig.keep(workspace.filled(BUFFERS * valueBytes, 1));
        return new SustainedPuts(store, memoryBytes, valueBytes, region.segment());
    }

    /** A stream of four times memory. */
    Stream whole() throws IOException {
        return stream(Long.MAX_VALUE);
    }

    /** A stream of as much, or for that time if that is less. */
    Stream over(final long nanos) throws IOException {
        return stream(nanos);
    }

    private Stream stream(final long mostNanos) throws IOException {
        store.removeAll(ObjectKey.DEFAULT_TENANT, true);
        for (long filled = 0; filled < memoryBytes; filled += valueBytes) {
            put(number++);
        }
        final Histogram times = new Histogram(DIGITS);
        final long first = number;
        final long[] taken = new long[(int) (TIMES * memoryBytes / valueBytes)];
        int count = 0;
        final long start = System.nanoTime();
        long now = start;
        for (int i = 0; i < taken.length && now - start < mostNanos; i++) {
            final long before = now;
            if (put(number)) {
                taken[count] = number;
                count++;
            }
            number++;
            now = System.nanoTime();
            times.recordValue(now - before);
        }
        check(LongStream.of(taken).limit(count).toArray());
        return new Stream(count * valueBytes / MIB * SECOND / (now - start), (double) count / (number - first),
            times.getValueAtPercentile(TAIL), times.getValueAtPercentile(MIDDLE));
    }

    private boolean put(final long which) throws IOException {
        final MemorySegment value = buffer(which);
        Stamps.write(value, which);
        final PutOutcome outcome = store.put(key(which), value);
        if (outcome != PutOutcome.STORED && outcome != PutOutcome.NO_SPACE) {
            throw new IOException("the store does not take " + key(which) + ": " + outcome);
        }
        return outcome == PutOutcome.STORED;
    }

    private void check(final long... taken) throws IOException {
        final int step = Math.max(1, taken.length / CHECKED);
        for (int i = 0; i < taken.length; i += step) {
            final MemorySegment value = buffer(taken[i]);
            Stamps.spoil(value);
            final GetOutcome outcome = store.get(key(taken[i]), value);
            if (!outcome.hit() || outcome.valueSize() != valueBytes) {
                throw new IOException("the store has no " + key(taken[i]) + ", which it has taken: " + outcome);
            }
            Stamps.check(value, taken[i]);
        }
    }

    private MemorySegment buffer(final long which) {
        return buffers.asSlice(which % BUFFERS * valueBytes, valueBytes);
    }

    private static ObjectKey key(final long which) {
        return ObjectKey.of("stream-" + which);
    }
}
