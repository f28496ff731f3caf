package io.kvtier.transport.file;

class BufferedPosixTransportTest extends PosixTransportContract {
    @Override
    boolean direct() {
        return false;
    }

    @Override
    int descriptors() {
        return 1;
    }
}
