package io.kvtier.transport.gds;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.cufile.CuFile;
import io.kvtier.bindings.cufile.CuFileConfig;
import io.kvtier.bindings.cufile.CuFileDriver;
import io.kvtier.bindings.cufile.CuFileException;
import io.kvtier.bindings.cufile.CuFileMode;
import io.kvtier.kit.Dying;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.OpenDescriptors;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.Direction;
import io.kvtier.transport.HostDetour;
import io.kvtier.transport.Registration;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransferRequest;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.file.PosixTransport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What is installed, what is refused and why, and what takes the place of what cannot be had. */
@ExtendWith(LeakCheck.class)
class GdsOpeningTest {
    private static final int BLOCK = GdsRig.BLOCK;

    @TempDir
    private Path directory;
    private GdsRig rig;

    @BeforeEach
    void open() {
        rig = new GdsRig(directory);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private static GdsConfig path(final boolean requireDirect, final boolean allowCompat) {
        return new GdsConfig(true, 128, GdsConfig.Mode.BATCH, 0, 4, requireDirect, allowCompat, 10, false);
    }

    /** Of the machine itself: with a GPU it holds the contexts until it is closed, without one it says why. */
    @Test
    void shouldTakeTheGpusThatThereAreWhereNoContextIsGiven() {
        final GdsTransport transport = GdsTransport.open(GdsConfig.DEFAULT);
        final Availability availability = transport.capability().availability();
        assertFalse(availability.reason().isEmpty());
        assertFalse(availability.reason().contains("no CUDA context was given"), availability.reason());
        transport.close();
        transport.close();
        final GdsConfig off = new GdsConfig(false, 1, GdsConfig.Mode.SYNC, 1, 1, false, true, 10, false);
        assertEquals("GPUDirect Storage is switched off",
            GdsTransport.open(off).capability().availability().reason());
    }

    private Availability refusal(final GdsConfig config) {
        final GdsTransport transport = rig.transport(config);
        final Availability availability = transport.capability().availability();
        assertFalse(availability.available(), availability.toString());
        assertFalse(availability.remedy().isEmpty());
        assertEquals(CuFileMode.ABSENT, transport.mode());
        transport.close();
        transport.close();
        assertEquals(0, rig.simulated.opens());
        return availability;
    }

    @Test
    void shouldRefuseCompatibilityModeWhenItIsNotEnough() {
        final Availability required = refusal(path(true, true));
        assertTrue(required.reason().contains("only compatibility mode") && required.reason()
            .contains("require_direct"), required.reason());
        final Availability forbidden = refusal(path(false, false));
        assertTrue(forbidden.reason().contains("allow_compat is false"), forbidden.reason());
    }

    @Test
    void shouldSayWhichWayDataTakes() {
        try (GdsTransport transport = rig.transport(path(false, true))) {
            assertEquals(CuFileMode.COMPATIBILITY, transport.mode());
            assertEquals(HostDetour.ALWAYS, transport.capability().detour());
            assertTrue(transport.capability().availability().reason().contains("compatibility mode, through host"));
        }
        rig.simulated.compatible(false);
        try (GdsTransport transport = rig.transport(path(true, true))) {
            assertEquals(CuFileMode.UNKNOWN, transport.mode());
            assertEquals(HostDetour.POSSIBLE, transport.capability().detour());
            assertTrue(transport.capability().availability().reason().contains("where the file system can"));
        }
        try (GdsTransport transport = rig.transport(path(true, false))) {
            assertEquals(CuFileMode.NVIDIA_FS, transport.mode());
            assertEquals(HostDetour.NONE, transport.capability().detour());
            assertTrue(transport.capability().availability().reason().contains("compatibility mode is refused"));
        }
    }

    @Test
    void shouldSayWhyWhenTheDriverDoesNotOpen() {
        rig.simulated.refuse("driverOpen", 5001, 0);
        assertTrue(refusal(GdsConfig.DEFAULT).reason().contains("5001"));
        rig.simulated.refuse("properties", 5030, 0);
        assertTrue(refusal(GdsConfig.DEFAULT).reason().contains("5030"));
    }

    @Test
    void shouldSayWhyWhenAnotherPartOfTheProcessHasTheDriverOpenOtherwise() {
        final CuFile shared = rig.simulated.cuFile();
        try (CuFileDriver driver = shared.open(new CuFileConfig(GdsRig.LIBRARY_POOL,
            CuFileConfig.Compatibility.ALLOWED, 0))) {
            assertEquals(GdsRig.LIBRARY_POOL, driver.posixPool());
            final GdsTransport transport = GdsTransport.open(shared, GdsConfig.DEFAULT, GdsRig.around(rig.simulated),
                GdsRig.LIBRARY_POOL);
            assertFalse(transport.capability().availability().available());
            assertTrue(transport.capability().availability().reason().contains("one configuration a process"));
        }
    }

    @Test
    void shouldSayWhyWhenSwitchedOffOrWithoutAContext() {
        final GdsConfig off = new GdsConfig(false, 128, GdsConfig.Mode.BATCH, 0, 4, false, true, 10, false);
        final TransferEngine engine = rig.engine(TransferConfig.DEFAULT, GdsTransport.open(off, List.of()));
        assertFalse(engine.hasTransport(TransportKind.GDS));
        assertTrue(engine.availability(TransportKind.GDS).remedy().contains("transports/gds/enable"));
        final GdsTransport none = GdsTransport.open(GdsConfig.DEFAULT, List.of());
        assertFalse(none.capability().availability().available());
    }

    @Test
    void shouldUseSynchronousCallsWhenNoBatchCanBeSetUp() throws IOException {
        rig.simulated.refuse("batchSetUp", 5030, 0);
        final TransferEngine engine = rig.engine(GdsConfig.DEFAULT);
        final Availability availability = engine.availability(TransportKind.GDS);
        assertTrue(availability.available());
        assertTrue(availability.reason().contains("synchronous calls") && availability.reason().contains("5030"),
            availability.reason());
        final Segment segment = rig.file(engine, "f", new byte[0]);

        engine.submit(List.of(TransferRequest.write(rig.device(1, 8 * BLOCK).slice(0, 8 * BLOCK), segment, 0)))
            .await();

        assertArrayEquals(PatternBytes.of(1, 8 * BLOCK), rig.content("f"));
        assertEquals(0, rig.simulated.count("batchSubmit"));
    }

    @Test
    void shouldSayWhyWhenAThreadCannotBegin() {
        final GdsTransport transport = GdsTransport.open(
            Dying.in("batchSetUp", rig.simulated, new LinkageError("a class is gone")), GdsConfig.DEFAULT,
            GdsRig.around(rig.simulated), GdsRig.LIBRARY_POOL);
        assertFalse(transport.capability().availability().available());
        assertTrue(transport.capability().availability().reason().contains("a class is gone"),
            transport.capability().toString());
    }

    @Test
    void shouldUseSynchronousCallsWhenABatchCannotBeSetUpAgain() throws IOException {
        final TransferEngine engine = rig.blocks(GdsRig.batches(8, 1));
        final Segment segment = rig.file(engine, "f", new byte[8 * BLOCK]);
        final DeviceRegion region = rig.device(1, 8 * BLOCK);
        rig.simulated.stalled(true);
        final Transfer first = engine.submit(List.of(TransferRequest.write(region.slice(0, BLOCK), segment, 0)));
        rig.awaitCalls("batchSubmit", 1);
        first.cancel();
        assertThrows(TransferException.class, first::await);
        rig.simulated.refuse("batchSetUp", 5030, 0);

        for (int round = 0; round < 3; round++) {
            engine.submit(List.of(TransferRequest.write(region.slice(0, 8 * BLOCK), segment, 0))).await();
        }

        assertArrayEquals(PatternBytes.of(1, 8 * BLOCK), rig.content("f"));
        assertEquals(1, rig.simulated.count("batchSubmit"));
        assertTrue(engine.availability(TransportKind.GDS).reason().contains("synchronous calls"),
            engine.availability(TransportKind.GDS).reason());
    }

    @Test
    void shouldGoOnWithFewerBatchesWhenNoMoreCanBeSetUp() throws IOException {
        final TransferEngine engine = rig.blocks(GdsRig.batches(4, 3));
        final Segment segment = rig.file(engine, "f", new byte[0]);
        final DeviceRegion region = rig.device(1, 100 * BLOCK);
        rig.simulated.refuse("batchSetUp", 5030, 0);

        engine.submit(List.of(TransferRequest.write(region.slice(0, 100 * BLOCK), segment, 0))).await();

        assertArrayEquals(PatternBytes.of(1, 100 * BLOCK), rig.content("f"));
        assertEquals(0, rig.simulated.count("write"));
    }

    @Test
    void shouldLeaveHostMemoryToOthersWhenAFileCannotBeRegistered() throws IOException {
        final TransferEngine engine = rig.engine(TransferConfig.DEFAULT, rig.transport(GdsConfig.DEFAULT),
            new PosixTransport(1, true));
        rig.simulated.refuse("handleRegister", 5027, 0);
        final Segment segment = rig.file(engine, "f", PatternBytes.of(1, BLOCK));
        assertTrue(segment.availability(TransportKind.POSIX).available());
        final Availability gds = segment.availability(TransportKind.GDS);
        assertFalse(gds.available());
        assertTrue(gds.reason().startsWith(segment.name() + " is open without GDS: ")
            && gds.reason().contains("/run/udev"), gds.reason());
        assertTrue(engine.availability(TransportKind.GDS).available(), "that one file does not say");
        try (HostRegion host = HostRegion.allocate(NativeTag.TEST, BLOCK)) {
            engine.submit(List.of(TransferRequest.read(host.slice(0, BLOCK), segment, 0))).await();
            assertArrayEquals(PatternBytes.of(1, BLOCK), PatternBytes.copyOf(host.segment()));
        }
        final DeviceRegion region = rig.device(2, BLOCK);

        final TransferFailure failure = assertThrows(TransferException.class, () -> engine.submit(List.of(
            new TransferRequest(Direction.READ, region.slice(0, BLOCK), segment, 0, TransportKind.GDS, true))))
            .failure();

        assertEquals(TransferFailure.Kind.INVALID, failure.kind());
        assertTrue(failure.message().contains("/run/udev"), failure.message());
        segment.close();
        // A failed opening is not remembered.
        final Segment again = engine.openSegment(rig.path("f").toUri().toString());
        engine.submit(List.of(TransferRequest.read(region.slice(0, BLOCK), again, 0))).await();
        assertArrayEquals(PatternBytes.of(1, BLOCK), PatternBytes.copyOf(GdsRig.bytes(region)));
    }

    @Test
    void shouldLeaveNoDescriptorBehindWhenAFileCannotBeRegistered() throws IOException {
        final TransferEngine engine = rig.engine(GdsConfig.DEFAULT);
        Files.write(rig.path("f"), new byte[1]);
        rig.simulated.refuse("handleRegister", 5027, 0);

        final CuFileException failure = assertThrows(CuFileException.class,
            () -> engine.openSegment(rig.path("f").toUri().toString()));

        assertEquals(5027, failure.code());
        assertTrue(failure.getMessage().contains("mount /run/udev read-only"), failure.getMessage());
        assertEquals(List.of(), OpenDescriptors.of(rig.path("f").toString()));
    }

    @Test
    void shouldRefuseHostMemoryThatIsMeantForItAlone() throws IOException {
        final TransferEngine engine = rig.engine(TransferConfig.DEFAULT, rig.transport(GdsConfig.DEFAULT),
            new PosixTransport(1, true));
        final Segment segment = rig.file(engine, "f", PatternBytes.of(1, BLOCK));
        try (HostRegion host = HostRegion.allocate(NativeTag.TEST, BLOCK)) {
            assertEquals(TransferFailure.Kind.INVALID, assertThrows(TransferException.class,
                () -> engine.submit(List.of(new TransferRequest(Direction.READ, host.slice(0, BLOCK), segment, 0,
                    TransportKind.GDS, true)))).failure().kind());
        }
    }

    @Test
    void shouldRegisterAnAllocationOnceForAllWhoAttachIt() throws IOException {
        final TransferEngine engine = rig.engine(GdsConfig.DEFAULT);
        final DeviceRegion region = rig.device(1, 4 * BLOCK);
        final Registration first = engine.register(region);
        final Registration second = engine.register(region);
        assertTrue(second.results().get(TransportKind.GDS).available());
        assertEquals(1, rig.simulated.count("bufferRegister"));

        first.close();
        first.close();
        assertEquals(0, rig.simulated.count("bufferDeregister"));
        second.close();
        assertEquals(1, rig.simulated.count("bufferDeregister"));
    }

    @Test
    void shouldMoveMemoryThatCouldNotBeRegistered() throws IOException {
        final TransferEngine engine = rig.engine(GdsConfig.DEFAULT);
        final DeviceRegion region = rig.device(1, 4 * BLOCK);
        rig.simulated.refuse("bufferRegister", 5041, 0);
        try (Registration registration = engine.register(region)) {
            final Availability result = registration.results().get(TransportKind.GDS);
            assertFalse(result.available());
            assertTrue(result.reason().contains("5041") && result.remedy().contains("max_device_pinned_mem_size_kb"),
                result.toString());
            final Segment segment = rig.file(engine, "f", new byte[0]);
            engine.submit(List.of(TransferRequest.write(region.slice(0, 4 * BLOCK), segment, 0))).await();
        }
        assertArrayEquals(PatternBytes.of(1, 4 * BLOCK), rig.content("f"));
    }

    @Test
    void shouldServeVirtualThreads() throws Exception {
        final TransferEngine engine = rig.engine(GdsConfig.DEFAULT);
        Files.write(rig.path("f"), new byte[BLOCK]);
        final DeviceRegion region = rig.device(1, BLOCK);
        final CompletableFuture<Void> done = CompletableFuture.runAsync(() -> {
            try (Registration registration = engine.register(region);
                Segment segment = engine.openSegment(rig.path("f").toUri().toString())) {
                assertTrue(registration.results().get(TransportKind.GDS).available());
                engine.submitAndWaitNext(List.of(TransferRequest.write(region.slice(0, BLOCK), segment, 0))).await();
                engine.sync(segment).await();
            }
        }, task -> Thread.ofVirtual().start(task));
        done.get();
        assertArrayEquals(PatternBytes.of(1, BLOCK), rig.content("f"));
    }
}
