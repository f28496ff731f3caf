package io.kvtier.alloc.extent;

import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.ThreadParams;

/** Extents of 4 KiB to 16 MiB in 1 TiB: replacing random ones at a degree of fullness, and filling in sequence. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 1, time = 2)
@Measurement(iterations = 2, time = 1)
@Fork(value = 1, jvmArgsAppend = {"--enable-native-access=ALL-UNNAMED", "-Xmx1g",
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED"})
public class ExtentBenchmark {
    private static final long CAPACITY = 1L << 40;

    /** The allocator. */
    @State(Scope.Benchmark)
    public static class Space {
        @Param({"ours", "mutex"})
        public String kind;
        ExtentSource source;

        @Setup(Level.Trial)
        public void open() {
            source = "ours".equals(kind) ? ExtentSource.of(ExtentAllocator.create(CAPACITY))
                : new FreeListExtents(CAPACITY, ExtentAllocator.DEFAULT_UNIT_BYTES);
        }

        @TearDown(Level.Trial)
        public void close() {
            source.close();
        }
    }

    /** What one thread holds: its share of the space, mixed by replacing every extent twice. */
    @State(Scope.Thread)
    public static class Holder {
        @Param({"50", "90", "99"})
        public int full;
        final SplittableRandom random = new SplittableRandom(42);
        final long[] offsets = new long[1 << 20];
        final long[] sizes = new long[1 << 20];
        // Drawn beforehand, so that what is measured is not the exponential function.
        final long[] draws = new long[1 << 16];
        int draw;
        int live;
        long bytes;
        long budget;

        @Setup(Level.Trial)
        public void fill(final Space space, final ThreadParams threads) {
            for (int i = 0; i < draws.length; i++) {
                draws[i] = Utilization.size(random);
            }
            budget = CAPACITY / 100 * full / threads.getThreadCount();
            boolean more = true;
            while (more) {
                more = add(space);
            }
            for (int i = 0; i < 2 * live; i++) {
                remove(space);
                refill(space);
            }
        }

        /** One allocation; false when this thread has its share, or there is no space for this size now. */
        boolean add(final Space space) {
            final long size = draws[draw & draws.length - 1];
            if (bytes + size > budget) {
                return false;
            }
            final long offset = space.source.allocate(size);
            if (offset < 0) {
                return false;
            }
            // What did not fit stays the next to be asked for: passing it over would favour small sizes.
            draw++;
            offsets[live] = offset;
            sizes[live++] = size;
            bytes += size;
            return true;
        }

        void remove(final Space space) {
            final int victim = random.nextInt(live);
            if (!space.source.free(offsets[victim], sizes[victim])) {
                throw new IllegalStateException("a live extent could not be freed");
            }
            bytes -= sizes[victim];
            offsets[victim] = offsets[--live];
            sizes[victim] = sizes[live];
        }

        /** Allocates until the share is used up or a size finds no space. */
        int refill(final Space space) {
            int added = 0;
            while (add(space)) {
                added++;
            }
            return added;
        }
    }

    /** Frees one random extent and allocates until this thread's share is full again: one of each on average. */
    @Benchmark
    public int replace(final Space space, final Holder holder) {
        holder.remove(space);
        return holder.refill(space);
    }

    /** Allocates 1,024 extents one after the other in an empty space, then frees them. */
    @Benchmark
    public long sequence(final Space space, final Sequence sequence) {
        for (int i = 0; i < sequence.offsets.length; i++) {
            sequence.offsets[i] = space.source.allocate(sequence.sizes[i]);
        }
        for (int i = 0; i < sequence.offsets.length; i++) {
            space.source.free(sequence.offsets[i], sequence.sizes[i]);
        }
        return sequence.offsets[0];
    }

    /** What one thread holds for a moment. */
    @State(Scope.Thread)
    public static class Sequence {
        final long[] offsets = new long[1_024];
        final long[] sizes = new SplittableRandom(7).longs(offsets.length).map(seed ->
            Utilization.size(new SplittableRandom(seed))).toArray();
    }
}
