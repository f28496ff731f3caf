package io.kvtier.store.cli.bench;

import io.kvtier.store.master.MasterServer;
import io.kvtier.transport.rpc.RpcServerConfig;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.util.ArrayList;
import java.util.List;

/** A master without a network, in this process: what its state does, and what it takes. */
final class ConductorRows {
    private static final List<Integer> THREADS = List.of(1, 4);
    private static final int COLLECTIONS = 3;

    private final int objects;

    ConductorRows(final Workspace workspace) {
        this.objects = workspace.objects();
    }

    List<Row> rows() {
        final List<Row> rows = new ArrayList<>();
        // First: what other rows have left behind may be freed at any time.
        rows.add(new Row("heap of a master for each of " + Names.count(objects) + " objects", Unit.BYTES,
            Recorded.master(), 1, Row.EVERYWHERE, () -> Rig.with(rig -> {
                final long before = usedHeap();
                final MasterLoad load = filled(rig);
                final double each = (double) (usedHeap() - before) / objects;
                return new Contest(rig, nanos -> kept(load, each), nanos -> Recorded.BYTES_PER_KEY);
            })));
        for (final int threads : THREADS) {
            rows.add(new Row("conductor alone, get replica list of " + Names.count(objects) + " objects, "
                + Names.threads(threads), Unit.PER_SECOND, Recorded.nothing(), 1, Row.EVERYWHERE,
                () -> Rig.with(rig -> {
                    final MasterLoad load = filled(rig);
                    final Crowd crowd =
                        rig.keep(Crowd.of(threads, thread -> load.get(thread, objects)), Crowd::close);
                    return new Contest(rig, crowd::perSecond, nanos -> Double.NaN);
                })));
        }
        return rows;
    }

    private MasterLoad filled(final Rig rig) throws IOException {
        final MasterServer server = rig.keep(MasterServer.start(RpcServerConfig.loopback(0), MasterHost.settings()),
            MasterServer::close);
        final MasterLoad load = new MasterLoad(server.master());
        // An eighth more, so that nothing is evicted.
        load.lend(objects + (objects >> 3) + 1L);
        load.fill(objects);
        return load;
    }

    /** The figure, as long as what it is of is there: it is in the rig, too. */
    private double kept(final MasterLoad load, final double each) throws IOException {
        load.exists(0, objects).once();
        return each;
    }

    private static long usedHeap() {
        final MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
        // What the first one frees may still have been referred to by what it leaves to be freed.
        for (int i = 0; i < COLLECTIONS; i++) {
            memory.gc();
        }
        return memory.getHeapMemoryUsage().getUsed();
    }
}
