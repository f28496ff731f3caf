package io.kvtier.transport.gds;

import io.kvtier.bindings.cufile.CuFileConfig;
import io.kvtier.kit.Registering;
import io.kvtier.kit.SimulatedCuFile;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportContract;
import io.kvtier.transport.TransportKind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;

/** Registered host memory over a simulated library. */
abstract class GdsHostTransportContract extends TransportContract {
    @TempDir
    private Path directory;
    private final SimulatedCuFile simulated = new SimulatedCuFile();

    abstract GdsConfig config();

    @Override
    protected TransportKind kind() {
        return TransportKind.GDS;
    }

    @Override
    protected Transport newTransport() {
        simulated.realFiles();
        simulated.compatible(false);
        return new Registering(GdsTransport.open(simulated.cuFile(), GdsRig.withHost(config()),
            GdsRig.around(simulated), CuFileConfig.DEFAULT.posixPool()), () -> { });
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
