package io.kvtier.store.cli.bench;

import io.kvtier.store.GdsConfig;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.cli.bench.SustainedPuts.Stream;
import io.kvtier.transport.Direction;
import io.kvtier.transport.TransportKind;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * Puts of four times what memory holds, whose end is the disk's: how fast they go, how many are refused, and how much
 * longer the slowest take than most; and the same with an offload by a timer, as Mooncake's heartbeat does it, in place
 * of one by pressure.
 *
 * <p>Memory is a quarter of {@code --size}, and the disk has room for all, so that nothing is evicted from it.
 */
final class SustainedRows {
    private static final long VALUE_BYTES = 1L << 20;
    private static final double FIO_GOAL = 0.8;
    /** No less than with a timer; or, of a limit, that it is kept. */
    private static final double GOAL = 1;
    private static final double MOST_TIMES = 100;
    private static final int FIO_DEPTH = 32;
    /** Of the timer, whose first tick comes at some time of the first of them. */
    private static final int PERIODS = 2;
    private static final String PUT = "sustained put " + Names.bytes(VALUE_BYTES) + ", ";

    private final Workspace workspace;
    private final Peer fio;

    SustainedRows(final Workspace workspace, final Peer fio) {
        this.workspace = workspace;
        this.fio = fio;
    }

    List<Row> rows() {
        final List<Row> rows = new ArrayList<>();
        rows.add(besideFio("4 times memory", Fio.uring(Direction.WRITE, VALUE_BYTES, FIO_DEPTH)));
        rows.add(besideFio("4 times memory, beside fdatasync each " + FIO_DEPTH,
            Fio.durableUring(VALUE_BYTES, FIO_DEPTH, FIO_DEPTH)));
        rows.add(limited("share of puts taken", Unit.SHARE, Stream::takenShare, 1));
        rows.add(limited("p99 of a put's time over its median", Unit.TIMES, Stream::tailTimes, MOST_TIMES));
        rows.add(besideTimer("4 times memory", Unit.MIB_PER_SECOND, Stream::mebibytesPerSecond));
        rows.add(besideTimer("p99 of a put's time", Unit.NANOSECONDS, Stream::p99Nanos));
        return rows;
    }

    private Row besideFio(final String what, final Fio peer) {
        return new Row(PUT + what, Unit.MIB_PER_SECOND, fio, FIO_GOAL, FileRows.here(TransportKind.IO_URING),
            () -> Rig.with(rig -> {
                final SustainedPuts ours = embedded(rig);
                return new Contest(rig, figure(ours, Stream::mebibytesPerSecond),
                    nanos -> peer.run(workspace.file(), workspace.fileBytes(), nanos));
            }));
    }

    private Row limited(final String what, final Unit unit, final ToDoubleFunction<Stream> figure,
        final double limit) {
        return new Row(PUT + what, unit, Peer.builtIn("limit"), GOAL, Row.EVERYWHERE, () -> Rig.with(rig ->
            new Contest(rig, figure(embedded(rig), figure), nanos -> limit)));
    }

    private Row besideTimer(final String what, final Unit unit, final ToDoubleFunction<Stream> figure) {
        return new Row(PUT + what + ", offload by pressure", unit, Peer.builtIn("offload each "
            + OffloadTimer.PERIOD_SECONDS + " s, or 5 times --seconds if that is less"), GOAL, Row.EVERYWHERE,
            () -> Rig.with(rig -> {
                final OffloadTimer timer = new OffloadTimer();
                final SustainedPuts ours = connected(rig, null);
                final SustainedPuts peer = connected(rig, timer);
                return new Contest(rig, figure(ours, figure), nanos -> {
                    timer.period(nanos);
                    return figure.applyAsDouble(peer.over(PERIODS * timer.periodNanos()));
                });
            }));
    }

    private static Contest.Figure figure(final SustainedPuts puts, final ToDoubleFunction<Stream> figure) {
        return nanos -> figure.applyAsDouble(puts.whole());
    }

    private long memoryBytes() {
        return workspace.fileBytes() / SustainedPuts.TIMES;
    }

    /** With room for a stream, what was in memory before it, and what a backend rounds up to. */
    private long diskBytes() {
        return workspace.fileBytes() + 2 * memoryBytes();
    }

    private Path folder(final Rig rig) throws IOException {
        return DirectFolders.make(rig, workspace.directory(), "disk-");
    }

    private SustainedPuts embedded(final Rig rig) throws IOException {
        final StoreConfig config = StoreConfig.builder().memoryBytes(memoryBytes()).hugePages(true)
            .disk(folder(rig), diskBytes()).diskWatermarks(1, 1).gds(GdsConfig.NONE).build();
        final Store store = rig.keep(Store.open(config), Store::close);
        return SustainedPuts.open(rig, workspace, store, memoryBytes(), VALUE_BYTES);
    }

    /** One that a master elsewhere tells what to offload; in time, where there is a timer. */
    private SustainedPuts connected(final Rig rig, final OffloadTimer timer) throws IOException {
        final Store store = OffloadTimer.connect(rig, folder(rig), memoryBytes(), diskBytes(), timer);
        return SustainedPuts.open(rig, workspace, store, memoryBytes(), VALUE_BYTES);
    }
}
