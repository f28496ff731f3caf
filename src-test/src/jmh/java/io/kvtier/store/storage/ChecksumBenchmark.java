package io.kvtier.store.storage;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** The checksum of values of 1 MiB that are in no cache, as one that a device has just delivered: values a second. */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@State(Scope.Thread)
@Warmup(iterations = 3, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Fork(value = 1, jvmArgsAppend = {"--enable-native-access=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED"})
public class ChecksumBenchmark {
    private static final long VALUE = 1 << 20;
    /** Together more than any cache has. */
    private static final int VALUES = 256;

    private Arena arena;
    private MemorySegment memory;
    private int next;

    @Setup(Level.Trial)
    public void fill() {
        arena = Arena.ofShared();
        memory = arena.allocate(VALUE * VALUES, 4096);
        final SplittableRandom random = new SplittableRandom(1);
        for (long at = 0; at < memory.byteSize(); at += Long.BYTES) {
            memory.set(ValueLayout.JAVA_LONG, at, random.nextLong());
        }
    }

    @TearDown(Level.Trial)
    public void free() {
        arena.close();
    }

    private MemorySegment next() {
        // No neighbours, whose first lines may have been fetched early.
        next = (next + 37) % VALUES;
        return memory.asSlice(next * VALUE, VALUE);
    }

    /** Of a caller's memory. */
    @Benchmark
    public long pieces() {
        return PieceHash.xxh64(List.of(next()), VALUE);
    }

    /** The hashing library, by address. */
    @Benchmark
    public long library() {
        return BlockHash.xxh64(next());
    }
}
