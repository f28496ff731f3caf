package io.kvtier.transport.gds;

import io.kvtier.kit.CudaBuffers;
import io.kvtier.kit.Registering;
import io.kvtier.transport.Transport;
import java.util.List;

/** Host memory that is pinned and registered when it is first used, on the real library. */
abstract class GdsHostDeviceContract extends GdsDeviceContract {
    @Override
    protected final Transport newTransport() {
        final CudaBuffers buffers = CudaBuffers.ofFirst();
        return new Registering(
            GdsTransport.open(config().withPinHostMemory(true), List.of(buffers.context())), buffers);
    }
}
