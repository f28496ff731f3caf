package io.kvtier.transport.memory;

class CudaDeviceAndDeviceTest extends CudaMemoryContract {
    @Override
    Ends ends() {
        return Ends.DEVICE_AND_DEVICE;
    }
}
