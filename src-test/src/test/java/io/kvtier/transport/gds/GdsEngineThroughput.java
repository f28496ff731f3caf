package io.kvtier.transport.gds;

import com.sun.management.ThreadMXBean;
import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.PinnedRegion;
import io.kvtier.bindings.cuda.Cuda;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.CudaCopies;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.transport.Registration;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import java.lang.management.ManagementFactory;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Throughput of transfers through the engine, to be held against {@code src/gpu/batch.c}, which moves the same entries
 * with the library's calls alone. A program of its own, as both take turns: {@code GdsEngineThroughput FILE ROUNDS}.
 */
public final class GdsEngineThroughput {
    private static final long TOTAL_BYTES = 256L << 20;
    private static final int[][] CASES = {{128, 64}, {64, 1024}, {128, 1024}, {64, 4096}, {16, 16384}};

    private static final int WARM_UP_ROUNDS = 100;
    private static final int[] WARM_UP = {128, 4};

    private GdsEngineThroughput() {
    }

    /**
     * Prints a line a round: name, entries, KiB of an entry, direction, GB/s.
     *
     * @param args file, rounds.
     */
    public static void main(final String[] args) {
        try (PosixFile made = PosixFile.open(args[0], OpenMode.CREATE)) {
            made.preallocate(0, TOTAL_BYTES);
        }
        try (CudaContext context = Cuda.devices().getFirst().retainPrimaryContext();
            DeviceRegion memory = DeviceRegion.allocate(context, TOTAL_BYTES);
            PinnedRegion host = PinnedRegion.allocate(context, TOTAL_BYTES);
            TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT,
                List.of(GdsTransport.open(GdsConfig.DEFAULT, List.of(context))));
            Segment segment = engine.openSegment(Path.of(args[0]).toAbsolutePath().toUri().toString());
            Registration registration = engine.register(memory)) {
            System.err.println(engine.capabilities() + ", " + registration.results());
            final SplittableRandom random = new SplittableRandom(1);
            for (long at = 0; at < TOTAL_BYTES; at += Long.BYTES) {
                host.segment().set(ValueLayout.JAVA_LONG, at, random.nextLong());
            }
            CudaCopies.toDevice(context, host.segment(), memory.pointer());
            // Not counted: a service runs compiled. The C program does the same, so that the disk is warm for both.
            final Transfer transfer = engine.newTransfer();
            for (int round = 0; round < WARM_UP_ROUNDS; round++) {
                measure(engine, transfer, memory, segment, WARM_UP, true);
                measure(engine, transfer, memory, segment, WARM_UP, false);
            }
            final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
            final long before = threads.getTotalThreadAllocatedBytes();
            for (int round = 0; round < WARM_UP_ROUNDS; round++) {
                measure(engine, transfer, memory, segment, WARM_UP, false);
            }
            System.err.println("heap bytes a request, in all threads: "
                + (threads.getTotalThreadAllocatedBytes() - before) / (WARM_UP_ROUNDS * WARM_UP[0]));
            for (int round = 0; round < Integer.parseInt(args[1]); round++) {
                for (final int[] one : CASES) {
                    for (final boolean write : List.of(true, false)) {
                        final double rate = measure(engine, transfer, memory, segment, one, write);
                        System.out.printf(Locale.ROOT, "engine %d x %d %s %.3f%n", one[0], one[1],
                            write ? "write" : "read", rate);
                    }
                }
            }
        }
    }

    /** GB/s of one transfer, which is used again for the next one. */
    private static double measure(final TransferEngine engine, final Transfer transfer, final DeviceRegion memory,
        final Segment segment, final int[] one, final boolean write) {
        final long bytes = one[1] * 1024L;
        final long start = System.nanoTime();
        transfer.clear();
        for (long at = 0; at < one[0] * bytes; at += bytes) {
            if (write) {
                transfer.write(memory, at, bytes, segment, at);
            } else {
                transfer.read(memory, at, bytes, segment, at);
            }
        }
        engine.submit(transfer);
        transfer.await();
        return (double) transfer.movedBytes() / (System.nanoTime() - start);
    }
}
