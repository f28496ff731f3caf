package io.kvtier.bindings.uring;

import com.sun.management.ThreadMXBean;
import io.kvtier.kit.Commands;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What a crossing into the kernel costs from Java, beside the same system call from C: io_uring_enter with a
 * descriptor that is none, which the kernel refuses at once. And what an operation that does nothing costs.
 */
final class Crossings {
    private static final int CALLS = 2_000_000;
    private static final String PROGRAM = """
        #define _GNU_SOURCE
        #include <stdio.h>
        #include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>
        int main(void) {
            struct timespec a, b;
            for (int i = 0; i < 100000; i++) syscall(__NR_io_uring_enter, -1, 0, 0, 0, 0, 0);
            clock_gettime(CLOCK_MONOTONIC, &a);
            for (int i = 0; i < 2000000; i++) syscall(__NR_io_uring_enter, -1, 0, 0, 0, 0, 0);
            clock_gettime(CLOCK_MONOTONIC, &b);
            printf("%f", ((b.tv_sec - a.tv_sec) * 1e9 + b.tv_nsec - a.tv_nsec) / 2000000);
            return 0;
        }
        """;

    private Crossings() {
    }

    static void report(final int rounds) throws IOException, InterruptedException {
        final Path program = compiled();
        final double[] ours = new double[rounds];
        final double[] theirs = new double[rounds];
        enters();
        for (int round = 0; round < rounds; round++) {
            ours[round] = enters();
            theirs[round] = program == null ? Double.NaN : Double.parseDouble(Commands.run(program.toString())
                .output());
        }
        final double peer = UringBenchmark.median(theirs);
        UringBenchmark.row("a refused io_uring_enter", "ns", UringBenchmark.median(ours),
            program == null ? "C: not installed (package gcc)" : "C", peer, peer / UringBenchmark.median(ours));
        for (final int depth : new int[] {1, 32}) {
            final double[] nops = new double[rounds];
            nops(depth);
            for (int round = 0; round < rounds; round++) {
                nops[round] = nops(depth);
            }
            UringBenchmark.row("a NOP, " + depth + " at once", "ns", UringBenchmark.median(nops), "none", Double.NaN,
                Double.NaN);
        }
        System.out.println("bytes allocated by 1,000,000 NOPs: " + allocated());
    }

    private static Path compiled() throws IOException, InterruptedException {
        final Path directory = Files.createTempDirectory("crossings");
        final Path source = Files.writeString(directory.resolve("enter.c"), PROGRAM);
        final Path program = directory.resolve("enter");
        return Commands.run("gcc", "-O2", "-o", program.toString(), source.toString()).code() == 0 ? program : null;
    }

    private static double enters() {
        final long start = System.nanoTime();
        for (int i = 0; i < CALLS; i++) {
            if (LinuxKernel.INSTANCE.enter(-1, 0, 0, 0, MemorySegment.NULL) >= 0) {
                throw new IllegalStateException("a ring has descriptor -1");
            }
        }
        return (double) (System.nanoTime() - start) / CALLS;
    }

    private static double nops(final int batch) {
        final int operations = 1 << 20;
        final CompletionHandler ignore = (userData, result) -> {
        };
        try (UringRing ring = UringRing.open(UringOptions.ofDepth(batch))) {
            final long start = System.nanoTime();
            turns(ring, batch, operations / batch, ignore);
            return (double) (System.nanoTime() - start) / operations;
        }
    }

    private static void turns(final UringRing ring, final int batch, final int turns, final CompletionHandler handler) {
        for (int turn = 0; turn < turns; turn++) {
            for (int i = 0; i < batch; i++) {
                ring.nop(i);
            }
            ring.submitAndWait(batch);
            ring.reap(handler);
        }
    }

    private static long allocated() {
        final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        final CompletionHandler ignore = (userData, result) -> {
        };
        try (UringRing ring = UringRing.open(UringOptions.ofDepth(10))) {
            turns(ring, 10, 100_000, ignore);
            final long before = threads.getCurrentThreadAllocatedBytes();
            turns(ring, 10, 100_000, ignore);
            return threads.getCurrentThreadAllocatedBytes() - before;
        }
    }
}
