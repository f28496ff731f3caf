package io.kvtier.transport.file;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Mapping;
import io.kvtier.transport.Registration;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.Transport;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Keeps a transfer engine busy with requests of one size at random places of a file, so many under way at once, and
 * tells how much was moved. Requests are submitted in batches, an eighth of the depth each, so that most are under way
 * while one batch is waited for and filled anew.
 *
 * <p><b>Threading:</b> the calling thread submits and waits.
 *
 * @param block     bytes a request.
 * @param depth     requests under way.
 * @param writes    whether they write.
 * @param pinned    whether their memory is registered with the engine.
 * @param hugePages whether their memory is in huge pages.
 */
public record EngineLoad(int block, int depth, boolean writes, boolean pinned, boolean hugePages) {
    /** How much of the file is used. */
    public static final long FILE_BYTES = 1L << 30;

    private static final int BATCHES = 8;
    private static final long NANOS = 1_000_000_000L;
    private static final double NANOS_A_MICRO = 1000;

    /**
     * What came of a run.
     *
     * @param mebibytesPerSecond throughput.
     * @param heapBytes          allocated on the heap by all threads, a request; of little meaning in short runs.
     * @param cpuMicros          microseconds of processor time of the process, a request; tells also where other
     *                           programs make throughput meaningless.
     */
    public record Result(double mebibytesPerSecond, double heapBytes, double cpuMicros) {
    }

    /**
     * Runs for some time.
     *
     * @param transport moves the bytes; closed afterwards.
     * @param path      a file of {@link #FILE_BYTES}.
     * @param seconds   how long.
     * @return what came of it.
     */
    public Result run(final Transport transport, final Path path, final int seconds) {
        final long bytes = (long) block * depth;
        try (TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT, List.of(transport));
            Segment segment = engine.openSegment(path.toUri().toString());
            HostRegion region = hugePages ? HostRegion.allocateHuge(NativeTag.TEST, bytes + (2 << 20))
                : HostRegion.allocate(NativeTag.TEST, bytes + (2 << 20))) {
            final long start = -region.segment().address() & (2 << 20) - 1;
            // Every page is there, and no two are alike.
            for (long at = 0; at < bytes; at += Mapping.PAGE_BYTES) {
                region.segment().set(ValueLayout.JAVA_LONG, start + at, at + 1);
            }
            if (!pinned) {
                return measured(engine, segment, region, start, seconds);
            }
            try (Registration registration = engine.register(region)) {
                final boolean done = registration.results().values().stream().allMatch(one -> one.available());
                if (!done) {
                    throw new IllegalStateException("not pinned: " + registration.results());
                }
                return measured(engine, segment, region, start, seconds);
            }
        }
    }

    private Result measured(final TransferEngine engine, final Segment segment, final HostRegion region,
        final long start, final int seconds) {
        final SplittableRandom random = new SplittableRandom(System.nanoTime());
        final int batches = Math.min(BATCHES, depth);
        final int each = depth / batches;
        final Transfer[] transfers = new Transfer[batches];
        for (int i = 0; i < batches; i++) {
            transfers[i] = engine.newTransfer();
            fill(transfers[i], region, start + (long) i * each * block, segment, random, each);
            submit(engine, transfers[i]);
        }
        final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        final long heapBefore = threads.getTotalThreadAllocatedBytes();
        final OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        final long cpuBefore = system.getProcessCpuTime();
        final long begin = System.nanoTime();
        final long end = begin + seconds * NANOS;
        long requests = 0;
        long now = begin;
        while (now < end) {
            for (int i = 0; i < batches; i++) {
                transfers[i].await();
                requests += each;
                transfers[i].clear();
                fill(transfers[i], region, start + (long) i * each * block, segment, random, each);
                submit(engine, transfers[i]);
            }
            now = System.nanoTime();
        }
        final double heap = (double) (threads.getTotalThreadAllocatedBytes() - heapBefore) / requests;
        final double cpu = (system.getProcessCpuTime() - cpuBefore) / NANOS_A_MICRO / requests;
        for (final Transfer transfer : transfers) {
            transfer.await();
        }
        return new Result((double) requests * block / (1 << 20) * NANOS / (now - begin), heap, cpu);
    }

    private void fill(final Transfer transfer, final HostRegion region, final long at, final Segment segment,
        final SplittableRandom random, final int count) {
        for (int i = 0; i < count; i++) {
            final long offset = (long) random.nextInt((int) (FILE_BYTES / block)) * block;
            if (writes) {
                transfer.write(region, at + (long) i * block, block, segment, offset);
            } else {
                transfer.read(region, at + (long) i * block, block, segment, offset);
            }
        }
    }

    /** At depth 1 there is nothing else to do than to wait. */
    private void submit(final TransferEngine engine, final Transfer transfer) {
        if (depth == 1) {
            engine.submitAndWaitNext(transfer);
        } else {
            engine.submit(transfer);
        }
    }
}
