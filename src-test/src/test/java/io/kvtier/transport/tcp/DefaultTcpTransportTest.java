package io.kvtier.transport.tcp;

/** The contract with the default settings. */
class DefaultTcpTransportTest extends TcpTransportContract {
    @Override
    TcpConfig client() {
        return TcpConfig.DEFAULT;
    }

    @Override
    SegmentServerConfig serving() {
        return SegmentServerConfig.DEFAULT;
    }
}
