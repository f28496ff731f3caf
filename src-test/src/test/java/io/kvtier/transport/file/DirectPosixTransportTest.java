package io.kvtier.transport.file;

import java.io.IOException;
import org.junit.jupiter.api.BeforeEach;

class DirectPosixTransportTest extends PosixTransportContract {
    @Override
    boolean direct() {
        return true;
    }

    @Override
    int descriptors() {
        return 2;
    }

    @BeforeEach
    void requireDirectIo() throws IOException {
        FileSystems.requireDirectIo(path("probe"));
    }
}
