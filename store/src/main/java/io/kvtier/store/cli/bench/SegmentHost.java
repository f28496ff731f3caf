package io.kvtier.store.cli.bench;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.tcp.ExportedSegment;
import io.kvtier.transport.tcp.Permission;
import io.kvtier.transport.tcp.SegmentServer;
import io.kvtier.transport.tcp.SegmentServerConfig;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.foreign.MemorySegment;
import java.util.function.ObjLongConsumer;

/**
 * The other process of a bench over TCP: memory that is served until standard input ends, as it also does with the
 * process that started this one.
 *
 * <p><b>Threading:</b> one thread; the server has its own.
 */
public final class SegmentHost {
    /** What the line with address and token begins with. */
    static final String SCHEME = "tcp://";

    private SegmentHost() {
    }

    /**
     * Serves memory on this machine; prints its address and its token on one line.
     *
     * @param bytes  how much.
     * @param filler fills it.
     * @param in     goes on until this ends.
     * @param out    takes the line.
     * @throws IOException when {@code in} cannot be read.
     */
    public static void serve(final long bytes, final ObjLongConsumer<MemorySegment> filler, final InputStream in,
        final PrintStream out) throws IOException {
        try (HostRegion region = HostRegion.allocateHuge(NativeTag.HOST_REGION, bytes);
             SegmentServer server = SegmentServer.open(SegmentServerConfig.DEFAULT)) {
            filler.accept(region.segment(), 0);
            final AccessToken token = AccessToken.random();
            try (ExportedSegment export = server.export("bench", region, token, Permission.READ_WRITE)) {
                out.println(export.address() + ' ' + token.hex());
                out.flush();
                in.transferTo(OutputStream.nullOutputStream());
            }
        }
    }
}
