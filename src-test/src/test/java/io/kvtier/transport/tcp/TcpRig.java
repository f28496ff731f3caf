package io.kvtier.transport.tcp;

import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransferRequest;
import java.util.List;

/** A client with memory of its own. */
final class TcpRig implements AutoCloseable {
    static final int MIB = 1 << 20;
    /** One connection, no second attempt, patience without end: tests shorten what they are about. */
    static final TcpConfig PLAIN = TcpConfig.DEFAULT.withLanes(1, 1).withRetry(new TcpRetry(0, 0, 0))
        .withTimeouts(new TcpTimeouts(600_000, 600_000, 600_000));

    private final TcpTransport transport;
    private final TransferEngine engine;
    private final HostRegion local = HostRegion.allocate(NativeTag.TEST, 32L * MIB);

    TcpRig(final TcpConfig config) {
        transport = new TcpTransport(config);
        engine = TransferEngine.open(TransferConfig.DEFAULT, List.of(transport));
    }

    TransferEngine engine() {
        return engine;
    }

    TcpStats stats() {
        return transport.stats();
    }

    HostRegion local() {
        return local;
    }

    Segment open(final String address) {
        return engine.openSegment(address, AccessToken.NONE);
    }

    TransferFailure refusalOf(final String address, final AccessToken token) {
        return assertThrows(TransferException.class, () -> engine.openSegment(address, token)).failure();
    }

    Transfer read(final Segment segment, final long at, final long length, final long offset) {
        return engine.submit(List.of(TransferRequest.read(local.slice(at, length), segment, offset)));
    }

    Transfer write(final Segment segment, final long at, final long length, final long offset) {
        return engine.submit(List.of(TransferRequest.write(local.slice(at, length), segment, offset)));
    }

    static TransferFailure failureOf(final Transfer transfer) {
        return assertThrows(TransferException.class, transfer::await).failure();
    }

    @Override
    public void close() {
        engine.close();
        local.close();
    }
}
