package io.kvtier.store.cli.bench;

import io.kvtier.alloc.HostRegion;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.tcp.TcpConfig;
import io.kvtier.transport.tcp.TcpTransport;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Memory of another process over the loopback, beside iperf3 with as many streams; each side is two processes. */
final class TcpRows {
    /** As much as passes through the memory of both sides; iperf3 moves one block again and again. */
    private static final long SEGMENT_BYTES = 64L << 20;
    private static final double GOAL = 0.8;
    private static final List<Long> BLOCKS = List.of(64L << 10, 1L << 20, 16L << 20);
    private static final List<Integer> STREAMS = List.of(1, 4);
    /** Bytes under way on a stream, so that it never runs dry, but at least two requests. */
    private static final long WINDOW_BYTES = 1L << 20;
    private static final int LEAST_REQUESTS = 2;

    private final Workspace workspace;
    private final Peer iperf;

    TcpRows(final Workspace workspace, final Peer iperf) {
        this.workspace = workspace;
        this.iperf = iperf;
    }

    List<Row> rows() {
        final List<Row> rows = new ArrayList<>();
        for (final long block : BLOCKS) {
            for (final Direction direction : Direction.values()) {
                STREAMS.forEach(streams -> rows.add(row(direction, block, streams)));
            }
        }
        return rows;
    }

    /** Requests at random blocks of the other process's memory. */
    EngineLoad load(final Rig rig, final Direction direction, final long block, final int streams)
        throws IOException {
        final List<String> command = new ArrayList<>(workspace.self());
        command.addAll(List.of("bench", "serve", Long.toString(SEGMENT_BYTES)));
        final Programs.Background server = rig.keep(Programs.start(command), Programs.Background::close);
        final String[] where = server.line(SegmentHost.SCHEME).split(" ");
        final int depth = (int) Math.max(LEAST_REQUESTS, WINDOW_BYTES / block) * streams;
        final HostRegion memory = rig.keep(workspace.filled(block * depth, 1));
        final TcpConfig config = TcpConfig.DEFAULT;
        final TransferEngine engine = rig.engine(new TcpTransport(config.withLanes(streams, config.ioThreads())));
        final Segment segment = rig.keep(engine.openSegment(where[0], AccessToken.of(where[1])));
        return new EngineLoad(engine, new EngineLoad.Shape(TransportKind.TCP, direction, block, depth, SEGMENT_BYTES),
            memory, segment);
    }

    private Row row(final Direction direction, final long block, final int streams) {
        final String name = "tcp " + direction.name().toLowerCase(Locale.ROOT) + ' ' + Names.bytes(block) + ", "
            + (streams == 1 ? "1 stream" : streams + " streams");
        return new Row(name, Unit.MIB_PER_SECOND, iperf, GOAL, Row.EVERYWHERE, () -> Rig.with(rig -> {
            final EngineLoad load = load(rig, direction, block, streams);
            return new Contest(rig, load::mebibytesPerSecond, nanos -> Iperf.run(direction, block, streams, nanos));
        }));
    }
}
