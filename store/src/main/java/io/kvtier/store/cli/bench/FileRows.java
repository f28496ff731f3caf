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
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Files past the page cache, beside fio with the same pattern on the same file.
 *
 * <p>How fast a disk moves 64 KiB depends on how many pieces they are in: where pages lie side by side in the machine's
 * memory the kernel makes one of them. Memory of a few blocks gets what pages come, and would keep them for all runs of
 * a row, where fio, started anew for each, gets others. So such rows go over many pages.
 */
final class FileRows {
    private static final double GOAL = 0.95;
    private static final List<Long> BLOCKS = List.of(64L << 10, 1L << 20, 16L << 20);
    /** What fits no huge page is given none, to either side. */
    static final long HUGE_PAGE = 2L << 20;
    /** So much of it that requests meet pages of every kind: those that lie side by side in the machine, and others. */
    static final long ORDINARY_BYTES = 32L << 20;
    private static final List<Integer> DEPTHS = List.of(1, 8, 32);
    /** Small and few: where waking a thread for each request costs most. */
    private static final long REFILLED_BLOCK = 64L << 10;
    private static final int REFILLED_DEPTH = 8;

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
                    DEPTHS.forEach(depth -> rows.add(row(shape(kind, direction, block, depth))));
                }
            }
            for (final Direction direction : Direction.values()) {
                rows.add(refilledRow(shape(kind, direction, REFILLED_BLOCK, REFILLED_DEPTH)));
            }
        }
        return rows;
    }

    private EngineLoad.Shape shape(final TransportKind kind, final Direction direction, final long block,
        final int depth) {
        return new EngineLoad.Shape(kind, direction, block, depth, workspace.fileBytes());
    }

    /** Says whether a transport for files works here. */
    static Supplier<Availability> here(final TransportKind kind) {
        return kind == TransportKind.POSIX ? Row.EVERYWHERE : Uring::availability;
    }

    /** Requests at random blocks of the file, each waited for. */
    EngineLoad load(final Rig rig, final EngineLoad.Shape shape) {
        final HostRegion memory = memory(rig, shape);
        final TransferEngine engine = rig.engine(transport(shape));
        return new EngineLoad(engine, shape, memory, segment(rig, engine));
    }

    /** Requests at random blocks of the file, each started anew by its end. */
    private RefillLoad refilled(final Rig rig, final EngineLoad.Shape shape) {
        final HostRegion memory = memory(rig, shape);
        final TransferEngine engine = rig.engine(transport(shape));
        return new RefillLoad(engine, shape, memory, segment(rig, engine));
    }

    private HostRegion memory(final Rig rig, final EngineLoad.Shape shape) {
        final long bytes = shape.blockBytes() * shape.depth();
        return rig.keep(bytes < HUGE_PAGE ? workspace.filledPages(ORDINARY_BYTES, shape.depth())
            : workspace.filled(bytes, shape.depth()));
    }

    private Segment segment(final Rig rig, final TransferEngine engine) {
        return rig.keep(engine.openSegment(workspace.file().toUri().toString()));
    }

    private static Transport transport(final EngineLoad.Shape shape) {
        return shape.transport() == TransportKind.POSIX ? new PosixTransport(shape.depth(), true)
            : new UringTransport(UringConfig.DEFAULT, true);
    }

    private Row row(final EngineLoad.Shape shape) {
        return row(shape, "depth " + shape.depth(), rig -> load(rig, shape)::mebibytesPerSecond);
    }

    private Row refilledRow(final EngineLoad.Shape shape) {
        return row(shape, shape.depth() + " refilled", rig -> refilled(rig, shape)::mebibytesPerSecond);
    }

    private Row row(final EngineLoad.Shape shape, final String how, final Function<Rig, Contest.Figure> ours) {
        final String direction = shape.direction().name().toLowerCase(Locale.ROOT);
        final String name = shape.transport().configName() + ' ' + direction + ' ' + Names.bytes(shape.blockBytes())
            + ", " + how;
        return new Row(name, Unit.MIB_PER_SECOND, fio, GOAL, here(shape.transport()), () -> Rig.with(rig ->
            new Contest(rig, ours.apply(rig),
                nanos -> peer(shape).run(workspace.file(), workspace.fileBytes(), nanos))));
    }

    private static Fio peer(final EngineLoad.Shape shape) {
        return shape.transport() == TransportKind.POSIX
            ? Fio.threads(shape.direction(), shape.blockBytes(), shape.depth())
            : Fio.uring(shape.direction(), shape.blockBytes(), shape.depth());
    }
}
