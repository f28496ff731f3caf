package io.kvtier.transport.gds;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.BorrowedRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MemoryKind;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.cufile.CuFileConfig;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.Registration;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Selection;
import io.kvtier.transport.SelectionRule;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransferRequest;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.TransportStats;
import io.kvtier.transport.file.PosixTransport;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What host memory is moved, and when it is let go. */
@ExtendWith(LeakCheck.class)
class GdsHostMemoryTest {
    private static final int BLOCK = GdsRig.BLOCK;
    private static final int SIZE = 40 * BLOCK;

    @TempDir
    private Path directory;
    private final HostRegion memory = HostRegion.allocate(NativeTag.TEST, SIZE);
    private GdsRig rig;

    @BeforeEach
    void open() {
        rig = new GdsRig(directory);
        rig.simulated.compatible(false);
        PatternBytes.fill(memory.segment(), 1);
    }

    @AfterEach
    void close() {
        rig.close();
        memory.close();
    }

    private TransferEngine engine() {
        return rig.engine(GdsRig.withHost(GdsRig.batches(8, 2)));
    }

    private static Availability answer(final Registration registration) {
        return registration.results().get(TransportKind.GDS);
    }

    private static TransferFailure refusal(final TransferEngine engine, final TransferRequest request) {
        final TransferFailure failure =
            assertThrows(TransferException.class, () -> engine.submit(List.of(request))).failure();
        assertEquals(TransferFailure.Kind.INVALID, failure.kind());
        return failure;
    }

    @Test
    void shouldRefuseMemoryThatNobodyKeeps() {
        final TransferEngine engine = engine();
        final MemoryRegion borrowed = new BorrowedRegion(memory.segment());
        try (Registration registration = engine.register(borrowed)) {
            assertTrue(answer(registration).reason().contains("borrowed"), answer(registration).toString());
        }
        assertEquals(0, rig.simulated.memory().pinnedCount());
    }

    @Test
    void shouldMoveOnlyWhatIsRegisteredAllOfIt() throws IOException {
        final TransferEngine engine = engine();
        final Segment segment = rig.file(engine, "f", new byte[SIZE]);
        final TransferRequest request = TransferRequest.write(memory.slice(0, SIZE), segment, 0);
        assertTrue(refusal(engine, request).message().contains("has to be registered"));
        final Registration registration = engine.register(memory);
        assertTrue(answer(registration).available(), answer(registration).toString());
        assertEquals(1, rig.simulated.memory().pinnedCount());
        // A second one of the same memory is counted only.
        engine.register(memory).close();

        engine.submit(List.of(request)).await();
        assertArrayEquals(PatternBytes.of(1, SIZE), rig.content("f"));

        registration.close();
        assertEquals(0, rig.simulated.memory().pinnedCount());
        assertTrue(refusal(engine, request).message().contains("has to be registered"));
    }

    @Test
    void shouldUnpinAndReleaseOnlyAfterTheLibraryHasLetGo() {
        final TransferEngine engine = engine();
        final HostRegion closedEarly = HostRegion.allocate(NativeTag.TEST, BLOCK);
        final Registration registration = engine.register(closedEarly);
        closedEarly.close();
        assertTrue(closedEarly.segment().scope().isAlive());
        rig.simulated.afterDeregistration(base -> {
            assertEquals(closedEarly.segment().address(), base);
            assertEquals(1, rig.simulated.memory().pinnedCount());
            assertTrue(closedEarly.segment().scope().isAlive());
        });

        registration.close();

        assertEquals(0, rig.simulated.memory().pinnedCount());
        assertFalse(closedEarly.segment().scope().isAlive());
    }

    @Test
    void shouldKeepNothingWhenItCannotBePinnedOrRegistered() {
        final TransferEngine engine = engine();
        rig.simulated.refuse("bufferRegister", CuFileTypes.CU_FILE_MEMORY_ALREADY_REGISTERED(), 0);
        try (Registration registration = engine.register(memory)) {
            assertTrue(answer(registration).reason().contains("MEMORY_ALREADY_REGISTERED"),
                answer(registration).toString());
            assertEquals(0, rig.simulated.memory().pinnedCount());
        }
        final AtomicBoolean full = new AtomicBoolean();
        final GdsTransport poor = GdsTransport.open(rig.simulated.cuFile(), GdsRig.withHost(GdsConfig.DEFAULT),
            new GdsTransport.Surroundings(List.of(), (context, host) -> {
                if (full.get()) {
                    throw new IllegalArgumentException("no memory left to pin");
                }
                return GdsRig.around(rig.simulated).pins().pin(context, host);
            }), CuFileConfig.DEFAULT.posixPool());
        full.set(true);
        final HostRegion other = HostRegion.allocate(NativeTag.TEST, BLOCK);
        assertEquals("no memory left to pin", poor.attach(other).reason());
        other.close();
        assertFalse(other.segment().scope().isAlive(), "still held");
        poor.close();
    }

    @ParameterizedTest
    @EnumSource(GdsConfig.Mode.class)
    void shouldFailWithTheCodeOfTheLibraryAndGoOn(final GdsConfig.Mode mode) throws IOException {
        final TransferEngine engine = rig.engine(GdsRig.withHost(mode == GdsConfig.Mode.BATCH
            ? GdsRig.batches(8, 2) : GdsRig.calls(2)));
        final Segment segment = rig.file(engine, "f", new byte[SIZE]);
        try (Registration registration = engine.register(memory)) {
            assertTrue(answer(registration).available());
            final TransferRequest request = TransferRequest.write(memory.slice(0, SIZE), segment, 0);
            rig.simulated.end(0, CuFileTypes.CUFILE_FAILED(), -28);
            rig.simulated.answer(-1, 28);
            final Transfer failing = engine.submit(List.of(request));
            assertEquals(28, assertThrows(TransferException.class, failing::await).failure().code());

            engine.submit(List.of(request)).await();
            assertArrayEquals(PatternBytes.of(1, SIZE), rig.content("f"));
        }
    }

    @Test
    void shouldEndACancelledTransferBeforeItsMemoryIsLetGo() throws Exception {
        final TransferEngine engine = rig.engine(new TransferConfig(BLOCK, 30_000),
            rig.transport(GdsRig.withHost(GdsRig.batches(8, 2))));
        final Segment segment = rig.file(engine, "f", new byte[SIZE]);
        final long submitted = rig.simulated.count("batchSubmit");
        rig.simulated.cancelReports(true);
        rig.simulated.stalled(true);
        try (Registration registration = engine.register(memory)) {
            assertTrue(answer(registration).available());
            final Transfer transfer =
                engine.submit(List.of(TransferRequest.read(memory.slice(0, SIZE), segment, 0)));
            rig.awaitCalls("batchSubmit", submitted + 1);
            assertFalse(transfer.await(0));
            transfer.cancel();
            assertThrows(TransferException.class, transfer::await);
            assertTrue(transfer.isSettled(), "the driver has said of all of it that it was cancelled");
            rig.simulated.stalled(false);
        }
    }

    /** By the usual table others come first; a table of one's own may take it first, and go on with the others. */
    @Test
    void shouldBeChosenByTheTableAndFallBackToPosix() throws IOException {
        final TransferConfig usual = TransferConfig.DEFAULT;
        final Selection gdsFirst = new Selection(List.of(new SelectionRule("file-host", Segment.Kind.FILE,
            Set.of(MemoryKind.HOST), TransportKind.GDS, TransportKind.POSIX)));
        for (final boolean first : new boolean[] {false, true}) {
            final TransferEngine engine = rig.engine(new TransferConfig(usual.sliceBytes(), usual.closeTimeoutMs(),
                usual.maxOutstanding(), usual.maxOutstandingBytes(), usual.maxFailovers(),
                first ? gdsFirst : Selection.DEFAULT),
                rig.transport(GdsRig.withHost(GdsRig.batches(8, 2))), new PosixTransport(1, true));
            final Segment segment = rig.file(engine, "f" + first, new byte[SIZE]);
            try (Registration registration = engine.register(memory)) {
                assertTrue(answer(registration).available());
                final TransferRequest request = TransferRequest.write(memory.slice(0, SIZE), segment, 0);
                engine.submit(List.of(request)).await();
                assertEquals(first ? SIZE : 0, written(engine, TransportKind.GDS));
                if (first) {
                    rig.simulated.end(0, CuFileTypes.CUFILE_FAILED(), -5);
                }
                engine.submit(List.of(request)).await();
                assertEquals(first ? SIZE : 0, written(engine, TransportKind.GDS), "the second one failed there");
                assertEquals(first ? SIZE : 2 * SIZE, written(engine, TransportKind.POSIX));
            }
            assertArrayEquals(PatternBytes.of(1, SIZE), rig.content("f" + first));
            engine.close();
        }
    }

    private static long written(final TransferEngine engine, final TransportKind kind) {
        return engine.stats().stream().filter(stats -> stats.kind() == kind).mapToLong(TransportStats::writtenBytes)
            .sum();
    }
}
