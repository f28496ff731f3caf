package io.kvtier.store.client.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MappedRegion;
import io.kvtier.alloc.MemoryKind;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.uring.Uring;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.LogLines;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.SimulatedBuffers;
import io.kvtier.kit.SimulatedCuFile;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.config.Environment;
import io.kvtier.transport.Capability;
import io.kvtier.transport.Closings;
import io.kvtier.transport.Registration;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.gds.SimulatedGds;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What the engine of a backing file moves, by what, and what it refuses; over a simulated cuFile and real files. */
@ExtendWith(LeakCheck.class)
class GdsEnginesTest {
    private static final int SIZE = 3 * 4096;
    private static final String GOOD = EngineSettings.GDS;
    /** GPUDirect Storage and nothing else, which is what host memory wants to be taken. */
    private static final String DIRECT = "{'transports': {'gds': {'enable': true, 'io_batch_depth': 128, "
        + "'allow_compat': false, 'host_memory': true}, 'io_uring': {'enable': false}}}";

    @TempDir
    private Path directory;
    private final SimulatedCuFile simulated = new SimulatedCuFile();
    private final List<OpenMode> modes = new CopyOnWriteArrayList<>();
    private final Closings open = new Closings();
    private SimulatedBuffers buffers;
    private Path path;

    @BeforeEach
    void make() throws IOException {
        simulated.realFiles();
        buffers = open.keep(new SimulatedBuffers(simulated.memory()), SimulatedBuffers::close);
        path = Files.write(directory.resolve("kv.gds"), new byte[2 * SIZE]);
    }

    @AfterEach
    void closeAll() {
        open.close();
        assertEquals(0, simulated.live());
        assertEquals(0, simulated.opens());
    }

    private Engines engines(final String json) {
        return engines(json, StoreConfig.builder().gds(config(GdsConfig.Mover.GDS)).build());
    }

    private Engines engines(final String json, final StoreConfig config) {
        final FileOpener files = (name, mode) -> {
            modes.add(mode);
            return FileOpener.POSIX.open(name, mode);
        };
        return Engines.embedded(new StoreHooks(() -> 0, files, Environment.of(json == null ? Map.of()
            : Map.of("MC_TENT_CONF", json.replace('\'', '"'))), gds -> SimulatedGds.open(simulated, gds)), config);
    }

    private GdsConfig config(final GdsConfig.Mover mover) {
        return GdsConfig.NONE.withRoom(path, 2 * SIZE).withTransport(mover);
    }

    private TransferEngine engine(final String json, final GdsConfig.Mover mover) {
        return open.keep(engines(json).gds(config(mover)), TransferEngine::close);
    }

    private Segment file(final TransferEngine engine, final GdsConfig.Mover mover) {
        return open.keep(Engines.gdsFile(engine, config(mover)), Segment::close);
    }

    private HostRegion host(final byte[] content) {
        final HostRegion region = open.keep(HostRegion.allocate(NativeTag.TEST, SIZE), HostRegion::close);
        region.segment().copyFrom(MemorySegment.ofArray(content));
        return region;
    }

    private DeviceRegion device(final byte[] content) {
        final DeviceRegion region = buffers.allocate(content.length);
        buffers.put(MemorySegment.ofArray(content), region, 0);
        return region;
    }

    private static void move(final TransferEngine engine, final Transfer transfer) {
        engine.submit(transfer);
        transfer.await();
    }

    private static byte[] bytes(final HostRegion region) {
        return PatternBytes.copyOf(region.segment().asSlice(0, SIZE));
    }

    private static long written(final TransferEngine engine, final TransportKind kind) {
        return engine.stats().stream().filter(one -> one.kind() == kind).mapToLong(one -> one.writtenBytes()).sum();
    }

    private static long read(final TransferEngine engine, final TransportKind kind) {
        return engine.stats().stream().filter(one -> one.kind() == kind).mapToLong(one -> one.readBytes()).sum();
    }

    private static List<TransportKind> kinds(final TransferEngine engine) {
        return engine.capabilities().stream().map(Capability::kind).toList();
    }

    @Test
    void shouldMoveMemoryOfAGpuStraightAndTheHostsBesideIt() {
        final TransferEngine engine = engine(GOOD, GdsConfig.Mover.GDS);
        final Segment file = file(engine, GdsConfig.Mover.GDS);
        final byte[] first = PatternBytes.of(1, SIZE);
        final byte[] second = PatternBytes.of(2, SIZE);
        final DeviceRegion gpu = device(first);
        final HostRegion memory = host(second);

        move(engine, engine.newTransfer().write(gpu, 0, SIZE, file, 0).write(memory, 0, SIZE, file, SIZE));
        assertEquals(SIZE, written(engine, TransportKind.GDS));
        assertEquals(SIZE, written(engine, TransportKind.POSIX));
        move(engine, engine.newTransfer().read(gpu, 0, SIZE, file, SIZE).read(memory, 0, SIZE, file, 0));

        assertArrayEquals(first, bytes(memory));
        assertArrayEquals(second, PatternBytes.copyOf(SimulatedBuffers.bytes(gpu, 0, SIZE)));
        assertEquals(SIZE, read(engine, TransportKind.GDS));
        assertEquals(SIZE, read(engine, TransportKind.POSIX));
        assertEquals(Set.of(MemoryKind.DEVICE), GdsEngines.straight(engine, config(GdsConfig.Mover.GDS)));
        assertTrue(modes.stream().anyMatch(OpenMode::direct), modes.toString());
    }

    @Test
    void shouldMoveMemoryOfTheHostStraightWhereTheTransportTakesIt() {
        simulated.compatible(false);
        final TransferEngine engine = engine(DIRECT, GdsConfig.Mover.GDS);
        final Segment file = file(engine, GdsConfig.Mover.GDS);
        final HostRegion known = host(PatternBytes.of(1, SIZE));
        final HostRegion unknown = host(PatternBytes.of(2, SIZE));
        Engines.prepare(engine, List.of(known)).forEach(one -> open.keep(one, Registration::close));

        move(engine, engine.newTransfer().write(known, 0, SIZE, file, 0));
        assertEquals(SIZE, written(engine, TransportKind.GDS));
        assertEquals(0, written(engine, TransportKind.POSIX));
        move(engine, engine.newTransfer().write(unknown, 0, SIZE, file, SIZE));
        assertEquals(SIZE, written(engine, TransportKind.POSIX));

        // A file that is mapped is memory of the host, and none that it takes.
        final MappedRegion mapped = open.keep(MappedRegion.map(path.toString(), 0, SIZE, true), MappedRegion::close);
        move(engine, engine.newTransfer().write(mapped, 0, SIZE, file, SIZE));
        assertEquals(2 * SIZE, written(engine, TransportKind.POSIX));
        assertEquals(SIZE, written(engine, TransportKind.GDS));

        assertEquals(EnumSet.of(MemoryKind.DEVICE, MemoryKind.PINNED, MemoryKind.HOST),
            GdsEngines.straight(engine, config(GdsConfig.Mover.GDS)));
    }

    @Test
    void shouldFollowNoPolicyThatIsForOtherFiles() {
        final TransferEngine engine = engine(GOOD.substring(0, GOOD.length() - 1) + ", 'policy': [{'segment_type': "
            + "'file', 'transports': ['posix']}]}", GdsConfig.Mover.GDS);
        final Segment file = file(engine, GdsConfig.Mover.GDS);

        move(engine, engine.newTransfer().write(device(PatternBytes.of(1, SIZE)), 0, SIZE, file, 0));

        assertEquals(SIZE, written(engine, TransportKind.GDS));
    }

    /** Nothing else tries what GPUDirect Storage could not do: it would not be what was asked for. */
    @Test
    void shouldFailRatherThanMoveMemoryOfAGpuByAnotherTransport() {
        final TransferEngine engine = engine(GOOD, GdsConfig.Mover.GDS);
        final Segment file = file(engine, GdsConfig.Mover.GDS);
        final DeviceRegion gpu = device(PatternBytes.of(1, SIZE));
        simulated.refuse("batchSubmit", 5030, 0);

        final TransferException e = assertThrows(TransferException.class,
            () -> move(engine, engine.newTransfer().write(gpu, 0, SIZE, file, 0)));

        assertTrue(e.getMessage().contains("5030"), e.getMessage());
        assertEquals(0, written(engine, TransportKind.POSIX));
    }

    @ParameterizedTest
    @EnumSource(names = {"IO_URING", "POSIX"})
    void shouldRunTheSameTierWithoutGpuDirectStorage(final GdsConfig.Mover mover) {
        NotExercised.require("io_uring", mover == GdsConfig.Mover.POSIX || Uring.availability().available(),
            Uring.availability().reason());
        final TransferEngine engine = engine(GOOD, mover);
        final Segment file = file(engine, mover);
        final byte[] content = PatternBytes.of(1, SIZE);
        final HostRegion memory = host(content);

        move(engine, engine.newTransfer().write(memory, 0, SIZE, file, SIZE));
        memory.segment().fill((byte) 0);
        move(engine, engine.newTransfer().read(memory, 0, SIZE, file, SIZE));

        assertArrayEquals(content, bytes(memory));
        assertEquals(List.of(TransportKind.MEMORY, mover.kind()), kinds(engine));
        assertEquals(SIZE, written(engine, mover.kind()));
        assertTrue(modes.stream().anyMatch(OpenMode::direct), modes.toString());
        assertEquals(Capability.HOST_MEMORY, GdsEngines.straight(engine, config(mover)));
        final TransferException e = assertThrows(TransferException.class,
            () -> engine.submit(engine.newTransfer().write(device(content), 0, SIZE, file, 0)));
        assertEquals(TransferFailure.Kind.INVALID, e.failure().kind());
    }

    @Test
    void shouldRefuseAnEngineThatIsNotLeftToGpuDirectStorage() {
        for (final String json : new String[] {null, "{}", GOOD.replace("128", "64"), GOOD.replace("false", "true")}) {
            final String message = EngineSettings.refused(() -> engines(json).gds(config(GdsConfig.Mover.GDS)));
            assertTrue(message.startsWith("INVALID_PARAMS: GDS offload: MC_TENT_CONF: 'transports/"), message);
            assertTrue(message.contains("or set MOONCAKE_GDS_OFFLOAD_TRANSPORT=io_uring (or posix) to run the same "
                + "tier without GPUDirect Storage"), message);
        }
        assertEquals(0, simulated.count("driverOpen"));
    }

    @Test
    void shouldRefuseWhatTheProbeOfGpuDirectStorageRefusesAndKeepNothing() {
        simulated.refuse("driverOpen", 5001, 0);

        final String message = EngineSettings.refused(() -> engines(GOOD).gds(config(GdsConfig.Mover.GDS)));

        assertTrue(message.startsWith("INVALID_PARAMS: GDS offload: GPUDirect Storage cannot be used: the cuFile "
            + "driver does not open: "), message);
        assertTrue(message.contains("5001") && message.contains("or set MOONCAKE_GDS_OFFLOAD_TRANSPORT=io_uring"),
            message);
    }

    /** As where udev does not know the file system: the engine's other transport opens the file all the same. */
    @Test
    void shouldRefuseAFileThatGpuDirectStorageCannotOpen() {
        final TransferEngine engine = engine(GOOD, GdsConfig.Mover.GDS);
        simulated.refuse("handleRegister", 5027, 0);

        final String message = EngineSettings.refused(() -> Engines.gdsFile(engine, config(GdsConfig.Mover.GDS)));

        assertTrue(message.contains("/kv.gds is open without GDS: ") && message.contains("5027"), message);
        assertTrue(message.contains("or set MOONCAKE_GDS_OFFLOAD_TRANSPORT=io_uring"), message);
        final Segment again = file(engine, GdsConfig.Mover.GDS);
        assertTrue(again.availability(TransportKind.GDS).available());
        assertTrue(again.availability(TransportKind.MEMORY).reason().endsWith("that serves no FILE segments"));
        assertEquals(engine.availability(TransportKind.TCP), again.availability(TransportKind.TCP));
    }

    @Test
    void shouldSayThatTheDiskHasNothingOfGpuDirectStorageUnlessSomethingElseHas() {
        try (LogLines log = new LogLines(Engines.class)) {
            engines(GOOD).files(false, 1).close();
            assertEquals(0, log.with("moves nothing").size());
            engines(GOOD, StoreConfig.builder().build()).files(false, 1).close();
            assertEquals(1, log.with("moves nothing").size());
        }
    }

    @Test
    void shouldKnowWhatIsWanted() {
        assertEquals(config(GdsConfig.Mover.GDS), engines(GOOD).offload());
        assertEquals(GdsConfig.NONE, engines(GOOD, StoreConfig.builder().build()).offload());
    }
}
