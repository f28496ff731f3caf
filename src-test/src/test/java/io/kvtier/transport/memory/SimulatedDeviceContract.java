package io.kvtier.transport.memory;

import io.kvtier.kit.DeviceBuffers;
import io.kvtier.kit.SimulatedBuffers;
import io.kvtier.kit.SimulatedDevices;
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
        return transport(devices, 2);
    }

    /** A transport over such devices, with so many threads. */
    static MemoryTransport transport(final SimulatedDevices devices, final int threads) {
        return new MemoryTransport(new DeviceCopies(devices.gpus(), threads), devices.gpus().count());
    }
}
