package io.kvtier.store.cli.bench;

import io.kvtier.store.protocol.wire.RemoteMaster;
import io.kvtier.transport.rpc.RpcClientConfig;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** A master in a process of its own, asked over loopback TCP by threads of this one, which share one connection. */
final class RpcRows {
    private static final double GOAL = 2;
    private static final double BATCH_GOAL = 1.5;
    private static final List<Integer> THREADS = List.of(1, 2, 4, 16);
    private static final List<Integer> KEYS = List.of(1, 32, 128, 1024);
    private static final int BATCH_THREADS = 4;
    /** Of many objects, those keys are asked for at once. */
    private static final int MANY_KEYS = 128;
    private static final int KNOWN = 100_000;
    /** More than are put in a row of the usual length. */
    private static final long ROOM = 4_000_000;

    private final Workspace workspace;

    /** Who puts or asks. */
    private interface Load {
        Crowd.Work work(MasterLoad load, int thread);
    }

    RpcRows(final Workspace workspace) {
        this.workspace = workspace;
    }

    List<Row> rows() {
        final List<Row> rows = new ArrayList<>();
        for (final int threads : THREADS) {
            rows.add(row("put start and end, " + Names.threads(threads), new Setup(threads, 0, GOAL),
                Recorded.put(threads), MasterLoad::put));
        }
        for (final int threads : THREADS) {
            rows.add(row("get replica list, " + Names.threads(threads), new Setup(threads, KNOWN, GOAL),
                Recorded.get(threads), (load, thread) -> load.get(thread, KNOWN)));
        }
        for (final int threads : THREADS) {
            rows.add(row("exists, " + Names.threads(threads), new Setup(threads, KNOWN, 1), Double.NaN,
                (load, thread) -> load.exists(thread, KNOWN)));
        }
        for (final int keys : KEYS) {
            rows.add(row("put, batch of " + keys, new Setup(BATCH_THREADS, 0, goal(keys)), Recorded.putBatch(keys),
                (load, thread) -> load.putBatch(thread, keys)));
        }
        for (final int keys : KEYS) {
            rows.add(row("get, batch of " + keys, new Setup(BATCH_THREADS, KNOWN, goal(keys)),
                Recorded.getBatch(keys), (load, thread) -> load.getBatch(thread, KNOWN, keys)));
        }
        final int objects = workspace.objects();
        rows.add(row("get, batch of " + MANY_KEYS + ", " + Names.count(objects) + " objects",
            new Setup(BATCH_THREADS, objects, BATCH_GOAL), Recorded.GET_OF_A_MILLION,
            (load, thread) -> load.getBatch(thread, objects, MANY_KEYS)));
        return rows;
    }

    private static double goal(final int keys) {
        return keys == 1 ? GOAL : BATCH_GOAL;
    }

    /** How many threads, how many objects there are before, and how good it should be. */
    private record Setup(int threads, int objects, double goal) {
    }

    /** A row beside a figure of the other master; not a number where there is none. */
    private Row row(final String name, final Setup setup, final double recorded, final Load load) {
        final Peer peer = Double.isNaN(recorded) ? Recorded.nothing() : Recorded.master();
        return new Row(name, Unit.PER_SECOND, peer, setup.goal(), Row.EVERYWHERE, () -> Rig.with(rig -> {
            final MasterLoad master = new MasterLoad(connect(rig));
            master.lend(ROOM + setup.objects());
            master.fill(setup.objects());
            final Crowd crowd =
                rig.keep(Crowd.of(setup.threads(), thread -> load.work(master, thread)), Crowd::close);
            return new Contest(rig, crowd::perSecond, nanos -> recorded);
        }));
    }

    private RemoteMaster connect(final Rig rig) throws IOException {
        final String[] where = MasterHost.start(rig, workspace).split(":");
        return rig.keep(new RemoteMaster(RpcClientConfig.of(where[0], Integer.parseInt(where[1]), "bench")),
            RemoteMaster::close);
    }
}
