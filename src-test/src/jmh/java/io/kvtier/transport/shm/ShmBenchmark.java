package io.kvtier.transport.shm;

import com.sun.management.ThreadMXBean;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.SharedRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.memory.MemoryTransport;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Copies by one thread through the shared-memory transport beside the same through the memory transport, in one engine
 * and in runs that take turns; and the heap that a request costs. Prints one JSON object a row.
 *
 * <p>Arguments: directory (/dev/shm; 128 MiB are taken there), rounds (101), milliseconds a run (20). Short runs, so
 * that what else the machine does meets both alike. JVM flags: those of README.md.
 */
public final class ShmBenchmark {
    private static final long MEMORY_BYTES = 128L << 20;
    private static final List<Long> LENGTHS = List.of(4L << 10, 64L << 10, 1L << 20, 16L << 20);
    private static final int WARM_UP_MILLIS = 1000;
    private static final double GOAL = 0.8;
    private static final double NANOS = 1e9;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private ShmBenchmark() {
    }

    /**
     * What one pattern came to; medians over the rounds.
     *
     * @param direction    of the copies.
     * @param length       bytes a request.
     * @param shm          MiB a second through the shared-memory transport.
     * @param memory       MiB a second through the memory transport.
     * @param ratio        the median of the rounds' ratios.
     * @param heapBytes    Java heap that a request through the shared-memory transport took, in the worst round.
     */
    public record Row(Direction direction, long length, double shm, double memory, double ratio, double heapBytes) {
        /** For machines. */
        String json() {
            return String.format(Locale.ROOT, "{\"row\": \"shm %s %d KiB\", \"unit\": \"MiB/s\", \"ours\": %.0f, "
                    + "\"peer\": \"memory\", \"peer_value\": %.0f, \"ratio\": %.3f, \"goal\": %.2f, "
                    + "\"heap_bytes_per_request\": %.1f}", direction.name().toLowerCase(Locale.ROOT), length >> 10,
                shm, memory, ratio, GOAL, heapBytes);
        }
    }

    /** One run's speed and garbage. */
    private record Run(double mebibytesPerSecond, double heapBytes) {
    }

    /** Runs everything. */
    public static void main(final String[] arguments) {
        final Path directory = arguments.length > 0 ? Path.of(arguments[0]) : SharedRegion.DEFAULT_DIRECTORY;
        final int rounds = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 101;
        final int millis = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 20;
        run(directory, rounds, millis).forEach(row -> System.out.println(row.json()));
    }

    /**
     * Measures.
     *
     * @param directory of the shared memory.
     * @param rounds    runs of each pattern and transport.
     * @param millis    milliseconds a run.
     * @return a row for each length and direction.
     */
    public static List<Row> run(final Path directory, final int rounds, final int millis) {
        final List<Row> rows = new ArrayList<>();
        try (SharedRegion shared = SharedRegion.create(directory, MEMORY_BYTES);
            HostRegion remote = HostRegion.allocate(NativeTag.TEST, MEMORY_BYTES);
            HostRegion local = HostRegion.allocate(NativeTag.TEST, MEMORY_BYTES);
            TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT,
                List.of(new ShmTransport(directory), new MemoryTransport()))) {
            // Pages that nobody has written are all the same one, and stay in the cache.
            List.of(shared.segment(), remote.segment(), local.segment()).forEach(memory -> memory.fill((byte) 1));
            final Segment shm = engine.openSegment(ShmTransport.addressOf(shared));
            final Segment memory = engine.register("memory", remote);
            final Transfer transfer = engine.newTransfer();
            final List<Copies> patterns = Arrays.stream(Direction.values()).flatMap(direction ->
                LENGTHS.stream().map(length -> new Copies(engine, transfer, local, direction, length))).toList();
            // All of them first, for the compiler's sake, and so that each mapping has met all of its pages.
            for (final Copies copies : patterns.reversed()) {
                copies.run(shm, WARM_UP_MILLIS);
                copies.run(memory, WARM_UP_MILLIS);
            }
            patterns.forEach(copies -> rows.add(compare(copies, shm, memory, rounds, millis)));
        }
        return rows;
    }

    private static Row compare(final Copies copies, final Segment shm, final Segment memory, final int rounds,
        final int millis) {
        final double[] ours = new double[rounds];
        final double[] theirs = new double[rounds];
        final double[] ratios = new double[rounds];
        double heap = 0;
        for (int round = 0; round < rounds; round++) {
            // Who goes first changes, so that a drift of the machine hits both alike.
            final Run early = copies.run(round % 2 == 0 ? shm : memory, millis);
            final Run late = copies.run(round % 2 == 0 ? memory : shm, millis);
            final Run our = round % 2 == 0 ? early : late;
            ours[round] = our.mebibytesPerSecond;
            theirs[round] = (round % 2 == 0 ? late : early).mebibytesPerSecond;
            ratios[round] = ours[round] / theirs[round];
            heap = Math.max(heap, our.heapBytes);
        }
        return new Row(copies.direction, copies.length, median(ours), median(theirs), median(ratios), heap);
    }

    private static double median(final double[] values) {
        final double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    /** One request after the other, through all of the memory again and again. */
    private record Copies(TransferEngine engine, Transfer transfer, HostRegion local, Direction direction,
                          long length) {
        Run run(final Segment segment, final int millis) {
            final long thread = Thread.currentThread().threadId();
            final long heapBefore = THREADS.getThreadAllocatedBytes(thread);
            final long start = System.nanoTime();
            final long end = start + millis * 1_000_000L;
            long now = start;
            long count = 0;
            while (now < end) {
                final long at = count * length % MEMORY_BYTES;
                transfer.clear();
                if (direction == Direction.READ) {
                    transfer.read(local, at, length, segment, at);
                } else {
                    transfer.write(local, at, length, segment, at);
                }
                engine.submitAndWaitNext(transfer);
                transfer.await();
                count++;
                now = System.nanoTime();
            }
            final double heap = (double) (THREADS.getThreadAllocatedBytes(thread) - heapBefore) / count;
            return new Run((double) count * length / (1 << 20) * NANOS / (now - start), heap);
        }
    }
}
