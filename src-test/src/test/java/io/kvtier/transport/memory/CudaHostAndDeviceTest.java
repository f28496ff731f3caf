package io.kvtier.transport.memory;

class CudaHostAndDeviceTest extends CudaMemoryContract {
    @Override
    Ends ends() {
        return Ends.HOST_AND_DEVICE;
    }
}
