package io.kvtier.transport.file;

import org.junit.jupiter.api.BeforeEach;

/** Direct I/O was asked for and the file system refuses it. */
class FallbackPosixTransportTest extends PosixTransportContract {
    @Override
    boolean direct() {
        return true;
    }

    @Override
    int descriptors() {
        return 1;
    }

    @BeforeEach
    void refuseDirect() {
        faults().refuseDirect();
    }
}
