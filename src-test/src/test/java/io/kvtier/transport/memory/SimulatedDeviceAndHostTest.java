package io.kvtier.transport.memory;

class SimulatedDeviceAndHostTest extends SimulatedDeviceContract {
    @Override
    Ends ends() {
        return Ends.DEVICE_AND_HOST;
    }
}
