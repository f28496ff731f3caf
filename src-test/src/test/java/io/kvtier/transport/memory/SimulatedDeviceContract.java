package io.kvtier.transport.memory;

import io.kvtier.kit.DeviceBuffers;
import io.kvtier.kit.SimulatedBuffers;
import io.kvtier.kit.SimulatedMemory;
import io.kvtier.transport.Transport;

/** Device memory that is memory of the test, copied by the processor at the time of the synchronisation. */
abstract class SimulatedDeviceContract extends DeviceMemoryContract {
    private final SimulatedDevices devices = new SimulatedDevices(new SimulatedMemory());

    @Override
    final DeviceBuffers newBuffers() {
        return new SimulatedBuffers(devices.memory());
    }

    @Override
    final Transport newTransport(final DeviceBuffers buffers) {
        return devices.transport(2);
    }
}
