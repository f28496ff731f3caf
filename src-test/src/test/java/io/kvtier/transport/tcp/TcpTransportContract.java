package io.kvtier.transport.tcp;

import io.kvtier.alloc.HostRegion;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportContract;
import io.kvtier.transport.TransportKind;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;

/** What every transport does, over a server in this process. */
abstract class TcpTransportContract extends TransportContract {
    private final Map<String, HostRegion> contents = new HashMap<>();
    private SegmentServer server;

    /** Settings of the client. */
    abstract TcpConfig client();

    /** Settings of the server. */
    abstract SegmentServerConfig serving();

    @Override
    protected TransportKind kind() {
        return TransportKind.TCP;
    }

    @Override
    protected Transport newTransport() {
        return new TcpTransport(client());
    }

    @Override
    protected Segment open(final TransferEngine with, final String name, final byte[] content) {
        if (server == null) {
            server = SegmentServer.open(serving());
        }
        final HostRegion region = region(Math.max(1, content.length));
        region.segment().copyFrom(MemorySegment.ofArray(content));
        contents.put(name, region);
        final ExportedSegment export =
            server.export(name, region, AccessToken.random(), Permission.READ_WRITE);
        return with.openSegment(export.address(), export.token());
    }

    @Override
    protected byte[] content(final String name) {
        return PatternBytes.copyOf(contents.get(name).segment());
    }

    // Before the engine is closed, which is the harder order; the regions come last.
    @AfterEach
    void closeServer() {
        if (server != null) {
            server.close();
        }
    }
}
