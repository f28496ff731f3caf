package io.kvtier.transport.file;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.uring.FaultyKernel;
import io.kvtier.bindings.uring.Uring;
import io.kvtier.kit.Commands;
import io.kvtier.kit.Faults;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferRequest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A process in which a ring fails while the kernel does not let go of an operation; ends with 0 when all is well. */
final class StuckRing {
    private StuckRing() {
    }

    public static void main(final String[] arguments) throws Exception {
        run(Path.of(arguments[0]));
        System.out.println("nothing was freed that the kernel may write");
        // What is stuck stays so.
        Runtime.getRuntime().halt(0);
    }

    private static void run(final Path directory) throws Exception {
        final Faults faults = new Faults();
        final FaultyKernel kernel = new FaultyKernel(faults);
        final UringTransport transport = new UringTransport(FileOpener.POSIX, kernel::open, Uring.availability(),
            UringConfig.DEFAULT.withRings(1, 4).withDrainTimeout(50), false);
        final TransferEngine engine = TransferEngine.open(new TransferConfig(4096, 0),
            List.of(transport, new PosixTransport(1, false)));
        final Path pipePath = directory.resolve("pipe");
        assertEquals(0, Commands.run("mkfifo", pipePath.toString()).code());
        final Path filePath = Files.write(directory.resolve("file"), PatternBytes.of(1, 4096));
        final Segment pipe = engine.openSegment(pipePath.toUri().toString());
        final Segment file = engine.openSegment(filePath.toUri().toString());
        final HostRegion local = HostRegion.allocate(NativeTag.TEST, 2 * 4096);
        final long abandonedBefore = Uring.abandonedRings();
        kernel.ignoreCancels();

        final Transfer stuck = engine.submit(List.of(TransferRequest.read(local.slice(0, 4096), pipe, 0)));
        while (faults.count(Faults.Call.READ) == 0) {
            assertFalse(stuck.isDone(), "the ring has not got the read of the pipe: " + transport.capability());
            Thread.onSpinWait();
        }
        kernel.failEnter(Errno.EFAULT);
        final TransferRequest request = TransferRequest.read(local.slice(4096, 4096), file, 0);
        // By the other transport, whether it was in the failing ring's hands or came later.
        engine.submit(List.of(request)).await();
        assertArrayEquals(PatternBytes.of(1, 4096), PatternBytes.copyOf(local.segment().asSlice(4096)));
        kernel.failEnter(0);
        while (Uring.abandonedRings() == abandonedBefore) {
            engine.submit(List.of(request)).await();
        }

        assertFalse(stuck.isDone());
        local.close();
        assertTrue(local.segment().scope().isAlive(), "memory was freed that the kernel may write");
        engine.close();
        assertTrue(engine.abandoned());
        assertFalse(stuck.isDone());
    }
}
