package io.kvtier.transport.file;

import io.kvtier.bindings.uring.FaultyKernel;
import io.kvtier.bindings.uring.Uring;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.NotExercised;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import org.junit.jupiter.api.BeforeEach;

/** What the transport over io_uring does, with a kernel whose operations fail as a test says. */
abstract class UringTransportContract extends FileTransportContract {
    private final FaultyKernel kernel = new FaultyKernel(faults());

    @BeforeEach
    void requireUring() {
        NotExercised.require("io_uring", Uring.availability().available(), Uring.availability().reason());
    }

    @Override
    protected TransportKind kind() {
        return TransportKind.IO_URING;
    }

    @Override
    Transport make(final FaultyFiles over, final int threads) {
        return make(over, UringConfig.DEFAULT.withRings(threads, 1));
    }

    final UringTransport make(final FaultyFiles over, final UringConfig config) {
        return new UringTransport(over, kernel::open, Uring.availability(), config, direct());
    }

    final FaultyKernel kernel() {
        return kernel;
    }
}
