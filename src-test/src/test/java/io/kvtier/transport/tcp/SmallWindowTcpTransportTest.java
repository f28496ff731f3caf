package io.kvtier.transport.tcp;

import io.kvtier.transport.SharedSecret;

/** The contract over several threads, small chunks, and windows that are always full, behind a shared secret. */
class SmallWindowTcpTransportTest extends TcpTransportContract {
    private static final SharedSecret SECRET = SharedSecret.of("0123456789abcdef0123456789abcdef");

    @Override
    TcpConfig client() {
        return TcpConfig.DEFAULT.withLanes(3, 2).withWindow(2, 5000).withSecret(SECRET);
    }

    @Override
    SegmentServerConfig serving() {
        final ServerLimits usual = ServerLimits.DEFAULT;
        return SegmentServerConfig.DEFAULT.withIoThreads(3).withSecret(SECRET).withLimits(new ServerLimits(
            usual.maxConnections(), usual.maxRequestBytes(), 7001, 1, 64 << 10, usual.handshakeMs(), usual.requestMs(),
            usual.idleMs()));
    }
}
