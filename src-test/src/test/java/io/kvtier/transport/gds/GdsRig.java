package io.kvtier.transport.gds;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.bindings.cufile.CuFileConfig;
import io.kvtier.bindings.cufile.PoolSlabs;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.SimulatedBuffers;
import io.kvtier.kit.SimulatedCuFile;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.Transport;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A transport over a simulated library, with engines, device memory and files; closing checks that all is gone. */
final class GdsRig implements AutoCloseable {
    static final int BLOCK = 4096;
    /** The library's own buffers. */
    static final List<PoolSlabs> LIBRARY_POOL =
        List.of(new PoolSlabs(4, 128), new PoolSlabs(1024, 64), new PoolSlabs(16384, 64));

    final SimulatedCuFile simulated;
    final SimulatedBuffers buffers;
    private final Path directory;
    private final List<TransferEngine> engines = new ArrayList<>();
    private GdsTransport transport;

    GdsRig(final Path directory) {
        this(directory, new SimulatedCuFile());
    }

    GdsRig(final Path directory, final SimulatedCuFile simulated) {
        this.directory = directory;
        this.simulated = simulated;
        this.buffers = new SimulatedBuffers(simulated.memory());
        simulated.realFiles();
    }

    static GdsConfig batches(final int depth, final int most) {
        return new GdsConfig(true, depth, GdsConfig.Mode.BATCH, 1, most, false, true, 10, false);
    }

    static GdsConfig calls(final int threads) {
        return new GdsConfig(true, 128, GdsConfig.Mode.SYNC, threads, 1, false, true, 10, false);
    }

    /** The same with host memory, which wants compatibility mode ruled out ({@link SimulatedCuFile#compatible}). */
    static GdsConfig withHost(final GdsConfig config) {
        return new GdsConfig(config.enabled(), config.ioBatchDepth(), config.mode(), config.threads(),
            config.batches(), config.requireDirect(), false, config.cancelWaitMs(), true);
    }

    /** No GPU, and a driver that pins whatever it is given. */
    static GdsTransport.Surroundings around(final SimulatedCuFile simulated) {
        return new GdsTransport.Surroundings(List.of(), (context, memory) -> {
            final long address = memory.segment().address();
            simulated.memory().pinned(address, memory.byteSize());
            return () -> simulated.memory().unpinned(address);
        });
    }

    GdsTransport transport(final GdsConfig config) {
        transport = GdsTransport.open(simulated.cuFile(), config, around(simulated),
            CuFileConfig.DEFAULT.posixPool());
        return transport;
    }

    GdsTransport transport() {
        return transport;
    }

    TransferEngine engine(final GdsConfig config) {
        return engine(TransferConfig.DEFAULT, transport(config));
    }

    /** Slices of one block. */
    TransferEngine blocks(final GdsConfig config) {
        return engine(new TransferConfig(BLOCK, 30_000), transport(config));
    }

    TransferEngine engine(final TransferConfig config, final Transport... transports) {
        final TransferEngine engine = TransferEngine.open(config, List.of(transports));
        engines.add(engine);
        return engine;
    }

    Path path(final String name) {
        return directory.resolve(name);
    }

    Segment file(final TransferEngine engine, final String name, final byte[] content) throws IOException {
        return engine.openSegment(Files.write(path(name), content).toUri().toString());
    }

    byte[] content(final String name) throws IOException {
        return Files.readAllBytes(path(name));
    }

    DeviceRegion device(final byte[] content) {
        final DeviceRegion region = buffers.allocate(content.length);
        bytes(region).copyFrom(MemorySegment.ofArray(content));
        return region;
    }

    DeviceRegion device(final long seed, final int length) {
        return device(PatternBytes.of(seed, length));
    }

    static MemorySegment bytes(final DeviceRegion region) {
        return SimulatedBuffers.bytes(region, 0, region.byteSize());
    }

    static byte[] part(final byte[] all, final int offset, final int length) {
        return Arrays.copyOfRange(all, offset, offset + length);
    }

    void awaitCalls(final String call, final long count) {
        while (simulated.count(call) < count) {
            Thread.yield();
        }
    }

    @Override
    public void close() {
        for (final TransferEngine engine : engines) {
            engine.close();
            assertFalse(engine.abandoned());
        }
        buffers.close();
        assertEquals(0, simulated.live());
        assertEquals(0, simulated.opens());
        assertEquals(0, simulated.memory().pinnedCount());
    }
}
