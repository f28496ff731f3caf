package io.kvtier.store.cli.bench;

import com.sun.management.OperatingSystemMXBean;
import io.kvtier.store.BatchResult;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.cli.bench.ValueLoad.Operation;
import io.kvtier.store.replica.ReplicaType;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.stream.LongStream;

/**
 * Puts and gets of batches of values by one thread, one batch after the other. Puts are of new keys into a file that is
 * full, so that old values go; gets are of any values of a file that is as full as it may be without that.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> all that it uses belongs to the rig.
 */
final class ValueBatches {
    private static final OperatingSystemMXBean CLOCK =
        ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    private static final double MIB = 1 << 20;
    /** Below the watermarks of a store that is told none: what is known stays. */
    private static final double KEPT_SHARE = 0.8;

    private final Shape shape;
    private final BatchBuffers buffers;
    private final Crowd crowd;
    private final SplittableRandom random = new SplittableRandom(1);
    /** What was fetched last, in each place. */
    private final long[] fetched;
    private long puts;
    /** Put and fetched values. */
    private long moved;

    /** What came of a measurement. */
    private record Measured(double valuesPerSecond, long values, long cpuNanos) {
    }

    /**
     * What the batches are like.
     *
     * @param operation what is done.
     * @param bytes     size of a value.
     * @param count     values of a batch.
     * @param from      the kind of replica that each get has to come from.
     */
    record Shape(Operation operation, long bytes, int count, ReplicaType from) {
        /** In words, for the name of a row. */
        @Override
        public String toString() {
            return operation.name().toLowerCase(Locale.ROOT) + ' ' + Names.bytes(bytes) + ", batch of "
                + count;
        }
    }

    private ValueBatches(final Rig rig, final Shape shape, final BatchBuffers buffers) throws IOException {
        this.shape = shape;
        this.buffers = buffers;
        this.fetched = new long[shape.count()];
        this.crowd = rig.keep(Crowd.of(1, i -> shape.operation() == Operation.PUT ? this::put : this::get),
            Crowd::close);
    }

    /** A load; the values that are to be there are put. */
    static ValueBatches open(final Rig rig, final Shape shape, final BatchBuffers buffers, final long fileBytes)
        throws IOException {
        final ValueBatches load = new ValueBatches(rig, shape, buffers);
        final boolean put = shape.operation() == Operation.PUT;
        final long values = (long) (put ? fileBytes : fileBytes * KEPT_SHARE) / shape.bytes();
        while (load.puts < values) {
            // Of puts whole batches: each begins at the first place.
            load.put(put ? shape.count() : (int) Math.min(shape.count(), values - load.puts));
        }
        return load;
    }

    /** A load of gets of the values that another load has put, into memory of its own. */
    static ValueBatches over(final Rig rig, final ValueBatches other, final BatchBuffers buffers)
        throws IOException {
        final ValueBatches load = new ValueBatches(rig, other.shape, buffers);
        load.puts = other.puts;
        return load;
    }

    /** Calls for some time; MiB a second. */
    double mebibytesPerSecond(final long nanos) throws IOException, InterruptedException {
        return measure(nanos).valuesPerSecond() * shape.bytes() / MIB;
    }

    /** Calls for some time; what the whole process takes of its processors meanwhile, so nothing else must go on. */
    double cpuSecondsPerGigabyte(final long nanos) throws IOException, InterruptedException {
        final Measured measured = measure(nanos);
        // Nanoseconds a byte are seconds a GB.
        return (double) measured.cpuNanos() / measured.values() / shape.bytes();
    }

    private Measured measure(final long nanos) throws IOException, InterruptedException {
        final boolean get = shape.operation() == Operation.GET;
        for (int i = 0; get && i < fetched.length; i++) {
            buffers.clear(i);
        }
        final long movedBefore = moved;
        final long cpuBefore = CLOCK.getProcessCpuTime();
        final double perSecond = crowd.perSecond(nanos);
        final Measured measured = new Measured(perSecond, moved - movedBefore,
            CLOCK.getProcessCpuTime() - cpuBefore);
        if (get) {
            for (int i = 0; i < fetched.length; i++) {
                buffers.verify(i, fetched[i]);
            }
        } else {
            checkLast();
        }
        return measured;
    }

    private long put() throws IOException {
        return put(shape.count());
    }

    private long put(final int count) throws IOException {
        final List<ObjectKey> keys = LongStream.range(puts, puts + count).mapToObj(ValueBatches::key).toList();
        for (int i = 0; i < count; i++) {
            buffers.write(i, puts + i);
        }
        final List<BatchResult<PutOutcome>> results = buffers.put(keys);
        for (int i = 0; i < count; i++) {
            final PutOutcome outcome = results.get(i).orThrow();
            if (outcome != PutOutcome.STORED) {
                throw new IOException("the store does not take " + keys.get(i) + ": " + outcome);
            }
        }
        puts += count;
        moved += count;
        return count;
    }

    private long get() throws IOException {
        for (int i = 0; i < fetched.length; i++) {
            fetched[i] = random.nextLong(puts);
            buffers.spoil(i);
        }
        fetch(LongStream.of(fetched).mapToObj(ValueBatches::key).toList(), 0);
        for (int i = 0; i < fetched.length; i++) {
            buffers.check(i, fetched[i]);
        }
        moved += fetched.length;
        return fetched.length;
    }

    private void checkLast() throws IOException {
        final int spare = shape.count();
        buffers.clear(spare);
        fetch(List.of(key(puts - 1)), spare);
        buffers.verify(spare, puts - 1);
    }

    private void fetch(final List<ObjectKey> keys, final int first) throws IOException {
        final List<BatchResult<GetOutcome>> results = buffers.get(keys, first);
        for (int i = 0; i < keys.size(); i++) {
            final GetOutcome outcome = results.get(i).orThrow();
            if (!outcome.hit() || outcome.valueSize() != shape.bytes() || outcome.tier() != shape.from()) {
                throw new IOException("the store has no " + keys.get(i) + " of " + shape.bytes() + " bytes in "
                    + shape.from() + ": " + outcome);
            }
        }
    }

    /** How many there are; they have the numbers from 0 on. */
    long values() {
        return puts;
    }

    /** The name of a value. */
    static ObjectKey key(final long number) {
        return ObjectKey.of("value-" + number);
    }
}
