package io.kvtier.transport.file;

class BufferedUringTransportTest extends UringTransportContract {
    @Override
    boolean direct() {
        return false;
    }

    @Override
    int descriptors() {
        return 1;
    }
}
