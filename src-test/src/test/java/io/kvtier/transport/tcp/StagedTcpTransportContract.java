package io.kvtier.transport.tcp;

import io.kvtier.kit.SimulatedBuffers;
import io.kvtier.kit.SimulatedDevices;
import io.kvtier.kit.SimulatedMemory;
import io.kvtier.kit.ThroughDevice;
import io.kvtier.transport.Transport;

/** Memory of a simulated device, through stages, over a server in this process. */
abstract class StagedTcpTransportContract extends TcpTransportContract {
    private final SimulatedDevices devices = new SimulatedDevices(new SimulatedMemory());

    abstract TcpStaging staging();

    @Override
    protected final Transport newTransport() {
        return new ThroughDevice(new TcpTransport(client(), devices.gpus(), staging()),
            new SimulatedBuffers(devices.memory()));
    }
}
