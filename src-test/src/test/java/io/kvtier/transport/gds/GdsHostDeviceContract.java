package io.kvtier.transport.gds;

import io.kvtier.kit.CudaBuffers;
import io.kvtier.kit.Registering;
import io.kvtier.transport.Transport;
import java.io.IOException;
import org.junit.jupiter.api.Test;

/** Host memory that is pinned and registered when it is first used, on the real library, where it lets it in. */
abstract class GdsHostDeviceContract extends GdsDeviceContract {
    @Override
    protected final Transport newTransport() {
        final CudaBuffers buffers = CudaBuffers.ofFirst();
        return new Registering(RealHostMemory.require(config(), buffers), buffers);
    }

    @Test
    void shouldTakeNoHostMemoryUnlessCompatibilityModeIsRuledOut() throws IOException {
        RealHostMemory.assertRefused(config(), folder());
    }
}
