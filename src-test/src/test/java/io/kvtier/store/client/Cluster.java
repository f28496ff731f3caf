package io.kvtier.store.client;

import io.kvtier.kit.Faults;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.Ports;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.config.Environment;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.master.MasterServer;
import io.kvtier.store.master.SnapshotPlan;
import io.kvtier.store.metrics.RequestMetrics;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.snapshot.files.SnapshotArchive;
import io.kvtier.transport.device.Devices;
import io.kvtier.transport.gds.GdsTransport;
import io.kvtier.transport.rpc.RpcServerConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/** A master and clients of it in this process, over real sockets; closed youngest first. */
final class Cluster implements AutoCloseable {
    /** Long enough for a busy machine, short enough to be waited for. */
    static final long LEASE_MS = 1_000;

    private static final long NEVER_MS = 86_400_000;

    private final Deque<AutoCloseable> open = new ArrayDeque<>();
    private volatile MasterServer master;
    private final SnapshotArchive snapshots;
    private Devices devices = Devices.CUDA;

    Cluster(final MasterSettings settings) {
        this(settings, null);
    }

    /** With masters that take snapshots when they end, or are asked to, and begin with the one that counts. */
    Cluster(final MasterSettings settings, final SnapshotArchive snapshots) {
        this.snapshots = snapshots;
        try {
            master = Ports.anywhere(port -> start(settings, port));
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Clients that join from now on have these GPUs. */
    Cluster with(final Devices gpus) {
        devices = gpus;
        return this;
    }

    /** A master with these watermarks for memory. */
    static MasterSettings settings(final double highWatermark, final double ratio) {
        return settings(highWatermark, ratio, 10_000);
    }

    static MasterSettings settings(final double highWatermark, final double ratio, final long clientTtlMs) {
        return new MasterSettings(new MasterSettings.Eviction(highWatermark, ratio, highWatermark, ratio, true),
            LEASE_MS, true, 1_000, new MasterSettings.Liveness(clientTtlMs, 30_000, 600_000, 3),
            MasterSettings.Pins.DEFAULT, MasterSettings.Tasks.DEFAULT, false, MasterSettings.Strategy.RANDOM);
    }

    private MasterServer start(final MasterSettings settings, final int port) throws IOException {
        final long nowMs = System.currentTimeMillis();
        return MasterServer.start(RpcServerConfig.loopback(port), settings, new RequestMetrics(),
            snapshots == null ? SnapshotPlan.none(nowMs) : SnapshotPlan.of(snapshots,
                new SnapshotPlan.Terms(true, true, NEVER_MS, NEVER_MS), nowMs));
    }

    int port() {
        return master.address().getPort();
    }

    /** Has the master take a snapshot. */
    void snapshot() {
        try {
            master.snapshots().take();
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The master ends, and another one starts in its place: without memory of it, if there are no snapshots. */
    void restartMaster(final MasterSettings settings) {
        restartMaster(settings, () -> { });
    }

    /** The same; something happens while there is none. */
    void restartMaster(final MasterSettings settings, final Runnable between) {
        final int port = port();
        master.close();
        between.run();
        try {
            master = start(settings, port);
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Groups of objects that the master knows. */
    long groups() {
        return master.master().apply(new AdminCommand.Statistics()).groups();
    }

    /** Segments that the master knows. */
    List<UUID> segments() {
        return master.master().apply(new SegmentCommand.Segments()).stream()
            .map(SegmentCommand.SegmentInfo::segmentId).toList();
    }

    void closeMaster() {
        master.close();
    }

    ConnectConfig.Builder config() {
        return ConnectConfig.builder("127.0.0.1", port()).closeTimeoutMs(20_000);
    }

    ConnectedStore join(final UnaryOperator<ConnectConfig.Builder> settings) {
        return join(settings, new Faults());
    }

    /** A client whose files fail as they are told. */
    ConnectedStore join(final UnaryOperator<ConnectConfig.Builder> settings, final Faults faults) {
        final ConnectedStore store = ConnectedStore.open(settings.apply(config()).build(), new StoreHooks(
            () -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime()), new FaultyFiles(faults),
            Environment.of(Map.of()), GdsTransport::open, devices));
        open.push(store);
        return store;
    }

    /** A client of whose commands something becomes on their way. */
    ConnectedStore join(final UnaryOperator<ConnectConfig.Builder> settings, final FaultyLink.Fault fault) {
        final ConnectConfig config = settings.apply(config()).build();
        final FaultyLink link = new FaultyLink(config);
        link.fault(fault);
        final ConnectedStore store = ConnectedStore.open(config, StoreHooks.SYSTEM, link);
        open.push(store);
        return store;
    }

    @Override
    public void close() {
        try {
            while (!open.isEmpty()) {
                open.pop().close();
            }
        } catch (final Exception e) {
            throw e instanceof RuntimeException known ? known : new IllegalStateException(e);
        } finally {
            master.close();
        }
    }
}
