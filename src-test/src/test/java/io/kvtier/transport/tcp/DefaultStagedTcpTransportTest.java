package io.kvtier.transport.tcp;

class DefaultStagedTcpTransportTest extends StagedTcpTransportContract {
    @Override
    TcpConfig client() {
        return TcpConfig.DEFAULT;
    }

    @Override
    SegmentServerConfig serving() {
        return SegmentServerConfig.DEFAULT;
    }

    @Override
    TcpStaging staging() {
        return TcpStaging.DEFAULT;
    }
}
