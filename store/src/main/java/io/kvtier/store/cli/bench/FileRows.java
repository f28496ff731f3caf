package io.kvtier.store.cli.bench;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.uring.Uring;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.file.PosixTransport;
import io.kvtier.transport.file.UringConfig;
import io.kvtier.transport.file.UringTransport;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;

/** Files past the page cache, beside fio with the same pattern on the same file. */
final class FileRows {
    private static final double GOAL = 0.95;
    private static final List<Long> BLOCKS = List.of(64L << 10, 1L << 20, 16L << 20);
    private static final List<Integer> DEPTHS = List.of(1, 8, 32);

    private final Workspace workspace;
    private final Peer fio;

    FileRows(final Workspace workspace, final Peer fio) {
        this.workspace = workspace;
        this.fio = fio;
    }

    List<Row> rows() {
        final List<Row> rows = new ArrayList<>();
        for (final TransportKind kind : List.of(TransportKind.IO_URING, TransportKind.POSIX)) {
            for (final long block : BLOCKS) {
                for (final Direction direction : Direction.values()) {
                    DEPTHS.forEach(depth -> rows.add(row(new EngineLoad.Shape(kind, direction, block, depth,
                        workspace.fileBytes()))));
                }
            }
        }
        return rows;
    }

    /** Says whether a transport for files works here. */
    static Supplier<Availability> here(final TransportKind kind) {
        return kind == TransportKind.POSIX ? Row.EVERYWHERE : Uring::availability;
    }

    /** Requests at random blocks of the file. */
    EngineLoad load(final Rig rig, final EngineLoad.Shape shape) {
        final Path file = workspace.file();
        final HostRegion memory = rig.keep(workspace.filled(shape.blockBytes() * shape.depth(), shape.depth()));
        final TransferEngine engine = rig.engine(transport(shape));
        final Segment segment = rig.keep(engine.openSegment(file.toUri().toString()));
        return new EngineLoad(engine, shape, memory, segment);
    }

    private static Transport transport(final EngineLoad.Shape shape) {
        return shape.transport() == TransportKind.POSIX ? new PosixTransport(shape.depth(), true)
            : new UringTransport(UringConfig.DEFAULT, true);
    }

    private Row row(final EngineLoad.Shape shape) {
        final String direction = shape.direction().name().toLowerCase(Locale.ROOT);
        final String name = shape.transport().configName() + ' ' + direction + ' ' + Names.bytes(shape.blockBytes())
            + ", depth " + shape.depth();
        final Supplier<Availability> here = here(shape.transport());
        return new Row(name, Unit.MIB_PER_SECOND, fio, GOAL, here, () -> Rig.with(rig -> {
            final EngineLoad load = load(rig, shape);
            return new Contest(rig, load::mebibytesPerSecond,
                nanos -> peer(shape).run(workspace.file(), workspace.fileBytes(), nanos));
        }));
    }

    private static Fio peer(final EngineLoad.Shape shape) {
        return shape.transport() == TransportKind.POSIX
            ? Fio.threads(shape.direction(), shape.blockBytes(), shape.depth())
            : Fio.uring(shape.direction(), shape.blockBytes(), shape.depth());
    }
}
