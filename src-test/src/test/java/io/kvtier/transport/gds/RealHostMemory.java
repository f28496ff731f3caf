package io.kvtier.transport.gds;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MemoryKind;
import io.kvtier.alloc.PinnedRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.cufile.CuFileMode;
import io.kvtier.kit.CudaBuffers;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.Registration;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Selection;
import io.kvtier.transport.SelectionRule;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferRequest;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.TransportStats;
import io.kvtier.transport.file.PosixTransport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** Host memory and the real library: let in where it is direct, and nowhere else. */
final class RealHostMemory {
    private static final int LENGTH = 1 << 20;

    private RealHostMemory() {
    }

    /** A transport that takes it; skips the test, and closes the buffers, where the machine has only the other mode. */
    static GdsTransport require(final GdsConfig config, final CudaBuffers buffers) {
        // Compatibility mode is not even forbidden where there is nothing else: that is another test's.
        final GdsTransport usual = GdsTransport.open(config.withHostMemory(true), List.of(buffers.context()));
        final CuFileMode mode = usual.mode();
        final String said = usual.capability().availability().reason();
        usual.close();
        if (mode == CuFileMode.COMPATIBILITY || mode == CuFileMode.ABSENT) {
            buffers.close();
            NotExercised.require("gds-direct", false, said);
        }
        final GdsTransport direct = GdsTransport.open(GdsRig.withHost(config), List.of(buffers.context()));
        assertTrue(direct.capability().memory().contains(MemoryKind.HOST), direct.capability().toString());
        return direct;
    }

    /** Asks for host memory where files may go in compatibility mode, and moves some all the same. */
    static void assertRefused(final GdsConfig config, final Path folder) throws IOException {
        try (CudaBuffers buffers = CudaBuffers.ofFirst()) {
            final GdsTransport gds = GdsTransport.open(config.withHostMemory(true), List.of(buffers.context()));
            try (TransferEngine alone = engine(gds)) {
                final Availability said = gds.capability().availability();
                System.out.println("seen: " + said.reason());
                assertTrue(said.available(), said.toString());
                assertEquals(Set.of(MemoryKind.DEVICE), gds.capability().memory());
                assertTrue(said.reason().contains("no host memory") && said.reason().contains("libcufile 1.15.1"),
                    said.reason());
                refused(gds, alone, folder, PinnedRegion.allocate(buffers.context(), LENGTH));
                refused(gds, alone, folder, HostRegion.allocate(NativeTag.TEST, LENGTH));
            }
            try (TransferEngine both = engine(
                GdsTransport.open(config.withHostMemory(true), List.of(buffers.context())),
                new PosixTransport(1, true))) {
                goesByPosix(both, folder, PinnedRegion.allocate(buffers.context(), LENGTH));
                goesByPosix(both, folder, HostRegion.allocate(NativeTag.TEST, LENGTH));
            }
        }
    }

    /** Takes GPUDirect Storage first, whatever the memory. */
    private static TransferEngine engine(final Transport... transports) {
        final TransferConfig usual = TransferConfig.DEFAULT;
        return TransferEngine.open(new TransferConfig(usual.sliceBytes(), usual.closeTimeoutMs(),
            usual.maxOutstanding(), usual.maxOutstandingBytes(), usual.maxFailovers(),
            new Selection(List.of(new SelectionRule("gds-first", Segment.Kind.FILE,
                Set.of(MemoryKind.HOST, MemoryKind.PINNED), TransportKind.GDS, TransportKind.POSIX)))),
            List.of(transports));
    }

    private static Segment file(final TransferEngine engine, final Path folder, final byte[] content)
        throws IOException {
        return engine.openSegment(Files.write(folder.resolve("host"), content).toUri().toString());
    }

    private static void refused(final GdsTransport gds, final TransferEngine engine, final Path folder,
        final HostMemory region) throws IOException {
        try (region; Registration registration = engine.register(region)) {
            final Availability answer = registration.results().get(TransportKind.GDS);
            assertFalse(answer != null && answer.available(), registration.results().toString());
            final Availability asked = gds.attach(region);
            assertFalse(asked.available());
            assertTrue(asked.remedy().contains("io_uring"), asked.toString());
            PatternBytes.fill(region.segment(), 1);
            final byte[] zeros = new byte[LENGTH];
            final Segment segment = file(engine, folder, zeros);
            assertThrows(TransferException.class, () -> engine.submit(List.of(
                TransferRequest.write(region.slice(0, LENGTH), segment, 0))).await());
            assertArrayEquals(zeros, Files.readAllBytes(folder.resolve("host")));
        }
    }

    private static void goesByPosix(final TransferEngine engine, final Path folder, final HostMemory region)
        throws IOException {
        try (region; Registration registration = engine.register(region)) {
            assertNull(registration.results().get(TransportKind.GDS), registration.results().toString());
            PatternBytes.fill(region.segment(), 2);
            final Segment segment = file(engine, folder, new byte[0]);
            engine.submit(List.of(TransferRequest.write(region.slice(0, LENGTH), segment, 0))).await();
            assertArrayEquals(PatternBytes.of(2, LENGTH), Files.readAllBytes(folder.resolve("host")));
            assertEquals(0, engine.stats().stream().filter(stats -> stats.kind() == TransportKind.GDS)
                .mapToLong(TransportStats::writtenBytes).sum());
        }
    }
}
