package io.kvtier.transport.tcp;

/** Few stages that are longer than a chunk and no multiple of one, and a server that takes less at once than one. */
class ScarceStagesTcpTransportTest extends StagedTcpTransportContract {
    private static final int LONGEST_REQUEST = 50_000;

    @Override
    TcpConfig client() {
        return TcpConfig.DEFAULT.withLanes(3, 2).withWindow(2, 7000);
    }

    @Override
    SegmentServerConfig serving() {
        final ServerLimits usual = ServerLimits.DEFAULT;
        return SegmentServerConfig.DEFAULT.withLimits(new ServerLimits(usual.maxConnections(), LONGEST_REQUEST,
            usual.chunkBytes(), usual.maxUnderWay(), usual.sendBufferBytes(), usual.handshakeMs(), usual.requestMs(),
            usual.idleMs()));
    }

    @Override
    TcpStaging staging() {
        return new TcpStaging(3, 65_432, 2);
    }
}
