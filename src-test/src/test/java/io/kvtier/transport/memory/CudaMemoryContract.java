package io.kvtier.transport.memory;

import io.kvtier.kit.CudaBuffers;
import io.kvtier.kit.DeviceBuffers;
import io.kvtier.transport.Transport;
import java.util.List;
import org.junit.jupiter.api.Timeout;

/** Memory of a real GPU, where there is one. A hang is a failure. */
@Timeout(value = 90, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class CudaMemoryContract extends DeviceMemoryContract {
    @Override
    final DeviceBuffers newBuffers() {
        return CudaBuffers.ofFirst();
    }

    @Override
    final Transport newTransport(final DeviceBuffers buffers) {
        return new MemoryTransport(List.of(((CudaBuffers) buffers).context()));
    }
}
