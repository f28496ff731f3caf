package io.kvtier.store.client.engine;

import io.kvtier.alloc.MemoryRegion;
import io.kvtier.alloc.SharedRegion;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.HostPort;
import io.kvtier.transport.shm.ShmTransport;
import io.kvtier.transport.tcp.ExportedSegment;
import io.kvtier.transport.tcp.Permission;
import io.kvtier.transport.tcp.SegmentServer;
import io.kvtier.transport.tcp.SegmentServerConfig;
import java.net.InetSocketAddress;
import org.agrona.CloseHelper;

/**
 * Serves this client's memory to others: over connections, and to processes of this host that may map it.
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> closing waits for requests that are running.
 */
public final class Exports implements AutoCloseable {
    private final SegmentServer server;
    private final String advertisedHost;

    /**
     * Memory that others reach.
     *
     * @param segment  what is served over connections; null for nothing.
     * @param endpoint addresses, the best first.
     */
    public record Export(ExportedSegment segment, String endpoint) implements AutoCloseable {
        @Override
        public void close() {
            CloseHelper.close(segment);
        }
    }

    /**
     * Listens.
     *
     * @param config         where and for whom; null to be reached over shared memory alone.
     * @param advertisedHost where others reach this host; null for the address that it listens on.
     */
    public Exports(final SegmentServerConfig config, final String advertisedHost) {
        this.server = config == null ? null : SegmentServer.open(config);
        this.advertisedHost = advertisedHost;
    }

    /** Exports memory under a name that nobody can guess or has had before. */
    public Export export(final MemoryRegion region, final AccessToken token, final Permission permission) {
        final String shm = region instanceof SharedRegion file ? ShmTransport.addressOf(file) : "";
        if (server == null) {
            return new Export(null, shm);
        }
        final ExportedSegment segment = server.export(AccessToken.random().hex(), region, token, permission);
        final String tcp = "tcp://" + HostPort.of(advertisedHost, server.address()) + '/' + segment.name();
        return new Export(segment, shm.isEmpty() ? tcp : shm + ' ' + tcp);
    }

    InetSocketAddress address() {
        return server.address();
    }

    @Override
    public void close() {
        CloseHelper.close(server);
    }
}
