package io.kvtier.bindings.cufile;

import io.kvtier.bindings.cuda.Cuda;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.CudaCopies;
import io.kvtier.bindings.cuda.DeviceMemory;
import io.kvtier.bindings.cuda.PinnedMemory;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Throughput of batches through the owners, to be held against {@code src/gpu/batch.c}, which makes the same calls. A
 * program of its own, as both take turns: {@code GdsThroughput FILE ROUNDS STATISTICS_LEVEL}.
 */
public final class GdsThroughput {
    private static final long TOTAL_BYTES = 256L << 20;
    private static final int[][] CASES = {{128, 64}, {64, 1024}, {128, 1024}, {64, 4096}, {16, 16384}};

    private static final int WARM_UP_ROUNDS = 100;
    private static final int WARM_UP_ENTRIES = 128;
    private static final long WARM_UP_BYTES = 4096;

    private GdsThroughput() {
    }

    /**
     * Prints a line a round: implementation, entries, KiB of an entry, direction, GB/s.
     *
     * @param args file, rounds, statistics level.
     */
    public static void main(final String[] args) {
        final CuFileConfig config = new CuFileConfig(CuFileConfig.DEFAULT.posixPool(),
            CuFileConfig.Compatibility.AS_CONFIGURED, Integer.parseInt(args[2]));
        try (CudaContext context = Cuda.devices().getFirst().retainPrimaryContext();
            CudaContext.Guard guard = context.enter();
            CuFileDriver driver = CuFile.system().open(config);
            PosixFile made = PosixFile.open(args[0], OpenMode.CREATE);
            PosixFile file = PosixFile.open(args[0], OpenMode.READ_WRITE_DIRECT);
            DeviceMemory memory = DeviceMemory.allocate(guard.context(), TOTAL_BYTES);
            PinnedMemory host = PinnedMemory.allocate(context, TOTAL_BYTES)) {
            made.preallocate(0, TOTAL_BYTES);
            final SplittableRandom random = new SplittableRandom(1);
            for (long at = 0; at < TOTAL_BYTES; at += Long.BYTES) {
                host.segment().set(ValueLayout.JAVA_LONG, at, random.nextLong());
            }
            CudaCopies.toDevice(context, host.segment(), memory.pointer());
            try (CuFileHandle handle = CuFileHandle.register(driver, file);
                CuFileBuffer buffer = CuFileBuffer.register(driver, memory)) {
                // Not counted: a service runs compiled. The C program does the same, so that the disk is warm for both.
                for (int round = 0; round < WARM_UP_ROUNDS; round++) {
                    measure("", driver, handle, buffer, WARM_UP_ENTRIES, WARM_UP_BYTES);
                }
                for (int round = 0; round < Integer.parseInt(args[1]); round++) {
                    for (final int[] one : CASES) {
                        measure("java" + args[2], driver, handle, buffer, one[0], one[1] * 1024L);
                    }
                }
            }
        }
    }

    private static void measure(final String name, final CuFileDriver driver, final CuFileHandle handle,
        final CuFileBuffer buffer, final int entries, final long bytes) {
        try (CuFileBatch batch = CuFileBatch.create(driver, entries)) {
            for (final boolean write : List.of(true, false)) {
                final long start = System.nanoTime();
                run(batch, handle, buffer, entries, bytes, write);
                final double rate = (double) (entries * bytes) / (System.nanoTime() - start);
                batch.recycle();
                if (!name.isEmpty()) {
                    System.out.printf(Locale.ROOT, "%s %d x %d %s %.3f%n", name, entries, bytes >> 10,
                        write ? "write" : "read", rate);
                }
            }
        }
    }

    /** In as many submissions as the driver has buffers for. */
    private static void run(final CuFileBatch batch, final CuFileHandle handle, final CuFileBuffer buffer,
        final int entries, final long bytes, final boolean write) {
        int added = 0;
        while (added < entries) {
            if (batch.state() == CuFileBatch.State.DRAINED) {
                batch.recycle();
            }
            while (added < entries && batch.add(write, handle, added * bytes, buffer, added * bytes, bytes)
                != CuFileBatch.NO_ROOM) {
                added++;
            }
            batch.submit();
            while (batch.state() == CuFileBatch.State.IN_FLIGHT) {
                batch.poll(10_000_000, (slot, outcome, result) -> {
                    if (outcome != CuFileOutcome.COMPLETE) {
                        throw new IllegalStateException("slot " + slot + ": " + outcome + ", " + result);
                    }
                });
            }
        }
    }
}
