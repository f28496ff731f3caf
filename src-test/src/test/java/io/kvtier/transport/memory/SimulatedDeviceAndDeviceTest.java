package io.kvtier.transport.memory;

class SimulatedDeviceAndDeviceTest extends SimulatedDeviceContract {
    @Override
    Ends ends() {
        return Ends.DEVICE_AND_DEVICE;
    }
}
