package io.kvtier.alloc.page;

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

/** 64 KiB pages in 4 GiB: replacing random pages at a degree of fullness, and filling and emptying in sequence. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 2, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 3, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Fork(value = 1, jvmArgsAppend = {"--enable-native-access=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED"})
public class PageBenchmark {
    private static final int PAGES = 65_536;

    /** The allocator. */
    @State(Scope.Benchmark)
    public static class Space {
        @Param({"ours", "mutex"})
        public String kind;
        PageSource source;

        @Setup(Level.Iteration)
        public void open() {
            source = PageSource.of(kind, PAGES);
        }

        @TearDown(Level.Iteration)
        public void close() {
            source.close();
        }
    }

    /** What one thread holds. */
    @State(Scope.Thread)
    public static class Holder {
        @Param({"50", "90", "99"})
        public int full;
        final SplittableRandom random = new SplittableRandom(42);
        long[] pages;

        @Setup(Level.Iteration)
        public void fill(final Space space, final ThreadParams threads) {
            pages = new long[(int) (PAGES * (long) full / 100 / threads.getThreadCount())];
            for (int i = 0; i < pages.length; i++) {
                pages[i] = space.source.allocate(1);
            }
            for (int i = 0; i < 4 * pages.length; i++) {
                final int victim = random.nextInt(pages.length);
                space.source.free(pages[victim], 1);
                pages[victim] = space.source.allocate(1);
            }
        }
    }

    /** Frees eight random pages and allocates eight. */
    @Benchmark
    public long replaceEight(final Space space, final Holder holder) {
        final long[] pages = holder.pages;
        final int at = holder.random.nextInt(pages.length - 8);
        for (int i = at; i < at + 8; i++) {
            space.source.free(pages[i], 1);
        }
        for (int i = at; i < at + 8; i++) {
            pages[i] = space.source.allocate(1);
            final int other = holder.random.nextInt(pages.length);
            final long page = pages[i];
            pages[i] = pages[other];
            pages[other] = page;
        }
        return pages[at];
    }

    /** Allocates 1,024 pages one after the other, then frees them. */
    @Benchmark
    public long sequence(final Space space, final Sequence sequence) {
        final long[] pages = sequence.pages;
        for (int i = 0; i < pages.length; i++) {
            pages[i] = space.source.allocate(1);
        }
        for (int i = 0; i < pages.length; i++) {
            space.source.free(pages[i], 1);
        }
        return pages[0];
    }

    /** What one thread holds for a moment. */
    @State(Scope.Thread)
    public static class Sequence {
        final long[] pages = new long[1_024];
    }
}
