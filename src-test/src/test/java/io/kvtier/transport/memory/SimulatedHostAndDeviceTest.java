package io.kvtier.transport.memory;

class SimulatedHostAndDeviceTest extends SimulatedDeviceContract {
    @Override
    Ends ends() {
        return Ends.HOST_AND_DEVICE;
    }
}
