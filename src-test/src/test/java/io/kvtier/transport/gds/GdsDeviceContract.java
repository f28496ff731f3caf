package io.kvtier.transport.gds;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.CudaBuffers;
import io.kvtier.kit.GdsFolder;
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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;

/** The contract on a real GPU and the real library, where it was asked for. A hang is a failure. */
@Timeout(value = 90, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class GdsDeviceContract extends TransportContract {
    private Path folder;

    abstract GdsConfig config();

    final Path folder() {
        return folder;
    }

    @BeforeEach
    void requireGds() throws IOException {
        folder = GdsFolder.require();
    }

    @AfterEach
    void removeFiles() throws IOException {
        GdsFolder.remove(folder);
    }

    @Override
    protected TransportKind kind() {
        return TransportKind.GDS;
    }

    @Override
    protected Transport newTransport() {
        final CudaBuffers buffers = CudaBuffers.ofFirst();
        final GdsTransport real = GdsTransport.open(config(), List.of(buffers.context()));
        assertTrue(real.capability().availability().available(), real.capability().toString());
        return new ThroughDevice(real, buffers);
    }

    @Override
    protected Segment open(final TransferEngine with, final String name, final byte[] content) throws IOException {
        return with.openSegment(Files.write(folder.resolve(name), content).toUri().toString());
    }

    @Override
    protected byte[] content(final String name) throws IOException {
        return Files.readAllBytes(folder.resolve(name));
    }
}
