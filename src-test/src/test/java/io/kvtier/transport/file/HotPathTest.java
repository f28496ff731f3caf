package io.kvtier.transport.file;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.uring.Uring;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.Registration;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.Transport;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What a request leaves on the Java heap, over all threads, once warm: a memory segment is 48 bytes. */
@ExtendWith(LeakCheck.class)
class HotPathTest {
    private static final int BATCH = 32;
    private static final int WARM_UP = 1000;
    private static final int ROUNDS = 500;
    private static final int BLOCK = 4096;
    /** One memory segment, and what a thread that had to wait for the next batch took. */
    private static final double MOST_BYTES = 64;
    /** Compilers and the test's own threads come in between; one quiet run of a few is proof. */
    private static final int ATTEMPTS = 8;

    @TempDir
    private Path directory;

    @Test
    void shouldLeaveNoMoreThanASegmentByPosix() throws IOException {
        check(new PosixTransport(2, true), false, MOST_BYTES);
    }

    @Test
    void shouldLeaveNoMoreThanASegmentByUring() throws IOException {
        NotExercised.require("io_uring", Uring.availability().available(), Uring.availability().reason());
        check(new UringTransport(UringConfig.DEFAULT, true), false, MOST_BYTES);
    }

    @Test
    void shouldLeaveNearlyNothingByUringInPinnedMemory() throws IOException {
        NotExercised.require("io_uring", Uring.availability().available(), Uring.availability().reason());
        check(new UringTransport(UringConfig.DEFAULT, true), true, MOST_BYTES / 4);
    }

    private void check(final Transport transport, final boolean pinned, final double most) throws IOException {
        final Path path = Files.write(directory.resolve("file"), PatternBytes.of(1, BATCH * BLOCK));
        final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        double least = Double.MAX_VALUE;
        try (TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT, List.of(transport));
            Segment segment = engine.openSegment(path.toUri().toString());
            HostRegion memory = HostRegion.allocate(NativeTag.TEST, BATCH * BLOCK)) {
            final Registration registration = pinned ? engine.register(memory) : null;
            final Transfer transfer = engine.newTransfer();
            rounds(engine, transfer, memory, segment, WARM_UP);
            for (int i = 0; i < ATTEMPTS && least > most; i++) {
                final long before = threads.getTotalThreadAllocatedBytes();
                rounds(engine, transfer, memory, segment, ROUNDS);
                least = Math.min(least,
                    (double) (threads.getTotalThreadAllocatedBytes() - before) / (ROUNDS * BATCH));
            }
            if (registration != null) {
                registration.close();
            }
        }
        assertTrue(least <= most, least + " bytes of heap a request, more than " + most);
    }

    private static void rounds(final TransferEngine engine, final Transfer transfer, final HostRegion memory,
        final Segment segment, final int count) {
        for (int round = 0; round < count; round++) {
            transfer.clear();
            for (int i = 0; i < BATCH; i++) {
                transfer.read(memory, (long) i * BLOCK, BLOCK, segment, (long) i * BLOCK);
            }
            engine.submit(transfer);
            transfer.await();
        }
    }
}
