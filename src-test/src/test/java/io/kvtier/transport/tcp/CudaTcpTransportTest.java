package io.kvtier.transport.tcp;

import io.kvtier.kit.CudaBuffers;
import io.kvtier.kit.ThroughDevice;
import io.kvtier.transport.Transport;
import java.util.List;
import org.junit.jupiter.api.Timeout;

/** Memory of a real GPU, where there is one, over a server in this process. A hang is a failure. */
@Timeout(value = 90, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CudaTcpTransportTest extends TcpTransportContract {
    @Override
    TcpConfig client() {
        return TcpConfig.DEFAULT;
    }

    @Override
    SegmentServerConfig serving() {
        return SegmentServerConfig.DEFAULT;
    }

    @Override
    protected Transport newTransport() {
        final CudaBuffers buffers = CudaBuffers.ofFirst();
        return new ThroughDevice(
            new TcpTransport(client(), List.of(buffers.context()), TcpStaging.DEFAULT), buffers);
    }
}
