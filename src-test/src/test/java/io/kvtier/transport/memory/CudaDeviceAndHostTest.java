package io.kvtier.transport.memory;

class CudaDeviceAndHostTest extends CudaMemoryContract {
    @Override
    Ends ends() {
        return Ends.DEVICE_AND_HOST;
    }
}
