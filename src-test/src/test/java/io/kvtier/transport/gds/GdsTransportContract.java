package io.kvtier.transport.gds;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.cufile.CuFileConfig;
import io.kvtier.bindings.cufile.PoolSlabs;
import io.kvtier.kit.SimulatedBuffers;
import io.kvtier.kit.SimulatedCuFile;
import io.kvtier.kit.ThroughDevice;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportContract;
import io.kvtier.transport.TransportKind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;

/** What the transport does over a simulated library, whose device memory is memory of the test. */
abstract class GdsTransportContract extends TransportContract {
    @TempDir
    private Path directory;
    private final SimulatedCuFile simulated = new SimulatedCuFile();

    abstract GdsConfig config();

    List<PoolSlabs> pool() {
        return CuFileConfig.DEFAULT.posixPool();
    }

    @Override
    protected TransportKind kind() {
        return TransportKind.GDS;
    }

    @Override
    protected Transport newTransport() {
        simulated.realFiles();
        final GdsTransport real = GdsTransport.open(simulated.cuFile(), config(), GdsRig.around(simulated),
            pool());
        assertTrue(real.capability().availability().available(), real.capability().toString());
        return new ThroughDevice(real, new SimulatedBuffers(simulated.memory()));
    }

    @Override
    protected Segment open(final TransferEngine with, final String name, final byte[] content) throws IOException {
        return with.openSegment(Files.write(directory.resolve(name), content).toUri().toString());
    }

    @Override
    protected byte[] content(final String name) throws IOException {
        return Files.readAllBytes(directory.resolve(name));
    }
}
