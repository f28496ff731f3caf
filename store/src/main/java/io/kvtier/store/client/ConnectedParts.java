package io.kvtier.store.client;

import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.SegmentCommand.Ping;
import io.kvtier.store.protocol.SegmentCommand.PingReply;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.Locality;
import io.kvtier.transport.Gate;
import io.kvtier.transport.HostPort;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.rpc.RpcClientConfig;
import io.kvtier.transport.rpc.RpcServerConfig;
import io.kvtier.transport.tcp.SegmentServerConfig;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.agrona.CloseHelper;

/**
 * What a connected store is made of, opened in the order in which one needs the other and closed in reverse.
 *
 * <p><b>Threading:</b> {@code kvtier-ping} tells the master that the client is alive, {@code kvtier-work} waits for
 * work, {@code kvtier-chores} lends anew, {@code kvtier-copies} carries out copies, {@code kvtier-offloader} writes to
 * the disk, {@code kvtier-nof} looks at block devices; none waits for another. <b>Lifetime:</b> closed by one thread at
 * a time; as often as it takes.
 */
final class ConnectedParts {
    /** How long a value that was read from disk for another client stays for it. */
    private static final long OWNER_LEASE_MS = 5_000;
    private static final long IDLE_MS = 60_000;

    private final ConnectConfig config;
    private final MasterLink master;
    private final Gate gate;
    private final UUID clientId = UUID.randomUUID();
    private final Counters counters = new Counters();
    /** A platform thread: finding memory for a shared file is one call of the system, of seconds where it is much. */
    private final ExecutorService chores =
        Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("kvtier-chores").factory());
    /** Copies may take long; memory is lent anew meanwhile. */
    private final ExecutorService copies =
        Executors.newSingleThreadExecutor(Thread.ofVirtual().name("kvtier-copies").factory());
    private final AtomicBoolean copying = new AtomicBoolean();
    private TransferEngine engine;
    private RemoteSegments segments;
    private Staging staging;
    private Exports exports;
    private LentMemory lent;
    private ConnectedMemory memory;
    private LentDevices lentDevices;
    private BlockDevices devices;
    private DiskTier disk;
    private OwnerEndpoint endpoint;
    private OwnerReads owners;
    private Replications replications;
    private volatile Mounts mounts;
    private Liveness liveness;
    /** Read by the thread of chores, which runs before this is made. */
    private volatile WorkLoop work;
    private boolean closed;

    ConnectedParts(final ConnectConfig config, final MasterLink master, final Gate gate) {
        this.config = config;
        this.master = master;
        this.gate = gate;
    }

    /** Opens everything; when this throws, {@link #close} gives back what was opened. */
    void open(final StoreHooks hooks) {
        final Engines engines = Engines.connected(hooks, config);
        // Before anything is opened: a master that does not answer is what goes wrong most often.
        final PingReply first = master.apply(ping(""));
        if (first.leaseMs() <= 0) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_MODE, "the master gives no leases, without which "
                + "a reader in another process cannot know whether the bytes it read are still those of its value; "
                + "give the master a lease of some seconds");
        }
        engine = engines.memory();
        segments = new RemoteSegments(engine);
        staging = new Staging();
        final boolean serves = config.lending().memoryBytes() > 0 || config.disk().bytes() > 0;
        exports = !serves ? null
            : new Exports(engines.overTcp() ? segmentServer() : null, config.listening().advertised());
        lent = config.lending().memoryBytes() == 0 ? null
            : new LentMemory(exports, config.lending().segmentName(), config.lending().memoryBytes(), engines.shared());
        memory = new ConnectedMemory(lent, segments, engine, staging);
        lentDevices = LentDevices.open(clientId, master, config.nof(), hooks.files());
        devices = new BlockDevices(master, lentDevices.endpoints(), () -> engines.files(true,
            config.disk().ioThreads()), staging, config.timeouts().transferMs());
        replications = new Replications(clientId, master, memory, staging, config.timeouts().transferMs());
        owners = new OwnerReads(this::rpcClient, new OwnerReads.Reach(engine, segments, staging, counters,
            config.timeouts().rpcMs(), config.timeouts().transferMs()));
        if (config.disk().bytes() > 0) {
            disk = DiskTier.open(DiskSettings.of(config), engines, clientId, master, memory, counters);
            endpoint = new OwnerEndpoint(rpcServer(), exports,
                new OwnerEndpoint.Buffers(config.lending().stagingBytes(), engines.shared(), OWNER_LEASE_MS), disk);
        }
        mounts = new Mounts(clientId, master, lent, lentDevices, disk, endpointAddress());
        // Again, with the endpoint.
        liveness = new Liveness(master, ping(endpointAddress()), master.apply(ping(endpointAddress())), chores,
            duties());
        mounts.mount();
        liveness.start();
        lentDevices.start(liveness::isSettled);
        if (serves) {
            work = new WorkLoop(master, clientId, this::workQueued);
            work.start();
        }
    }

    private Ping ping(final String address) {
        return new Ping(clientId, config.identity().name(), config.identity().hostId(), address);
    }

    private SegmentServerConfig segmentServer() {
        return SegmentServerConfig.DEFAULT.at(config.listening().host(), 0).withSecret(config.security().secret())
            .withInsecure(config.security().open()).withCloseTimeoutMs(Math.min(config.timeouts().closeMs(), IDLE_MS));
    }

    private RpcServerConfig rpcServer() {
        final RpcServerConfig base = RpcServerConfig.loopback(0);
        final ConnectConfig.Security security = config.security();
        return new RpcServerConfig(new InetSocketAddress(config.listening().host(), 0), security.secret(),
            security.tls(), false, security.open(), base.maxConnections(), base.maxBodyBytes(),
            base.handshakeTimeoutMs(), config.timeouts().closeMs(), base.stallTimeoutMs());
    }

    private RpcClientConfig rpcClient(final HostPort owner) {
        final RpcClientConfig base = RpcClientConfig.of(owner.host(), owner.port(), config.identity().name())
            .withSecret(config.security().secret());
        return config.security().tls() == null ? base : base.withTls(config.security().tls());
    }

    private String endpointAddress() {
        return endpoint == null ? "" : HostPort.of(config.listening().advertised(), endpoint.listening()).toString();
    }

    private Liveness.Duties duties() {
        return new Liveness.Duties() {
            @Override
            public boolean lends() {
                return lent != null || disk != null || lentDevices.isLending();
            }

            @Override
            public void remount() {
                mounts.mount();
                if (work != null) {
                    work.lookForAll();
                }
            }

            @Override
            public void tick() {
                segments.sweep();
                devices.sweep();
                owners.sweep(System.nanoTime());
                if (disk != null && disk.takeUnsettled()) {
                    chore(chores, mounts::mountDisk);
                }
            }
        };
    }

    private void workQueued(final WorkKind kind) {
        if (kind == WorkKind.TASKS) {
            if (copying.compareAndSet(false, true)) {
                chore(copies, () -> {
                    copying.set(false);
                    replications.run();
                });
            }
        } else if (disk != null) {
            disk.workQueued(kind);
        }
    }

    private static void chore(final ExecutorService thread, final Runnable task) {
        try {
            thread.execute(() -> {
                try {
                    task.run();
                } catch (final StoreException e) {
                    System.getLogger(ConnectedParts.class.getName()).log(System.Logger.Level.WARNING,
                        "a chore failed: {0}", e.getMessage());
                }
            });
        } catch (final RejectedExecutionException e) {
            // The store is being closed.
        }
    }

    /** What the calls of the store need. */
    ClientStore.Parts parts() {
        final Reader reader = new Reader(new Reader.Sources(this::locality, master, memory, devices, disk, owners,
            counters), new Reader.Terms(false, config.verify(), config.timeouts().transferMs()));
        final Writer writer = new Writer(clientId, master,
            new WaitingStarts(master, gate, counters, config.timeouts().putMs()), memory, devices,
            counters, config.timeouts().transferMs());
        return new ClientStore.Parts(master, reader, writer, disk, gate, counters, config.identity().tenant());
    }

    private Locality locality() {
        return mounts.locality();
    }

    List<String> addresses() {
        final List<String> all = new ArrayList<>();
        if (lent != null && lent.address() != null) {
            all.addAll(Arrays.asList(lent.address().endpoint().split(" ")));
        }
        all.addAll(lentDevices.endpoints().values());
        if (endpoint != null) {
            all.add(endpointAddress());
        }
        return all;
    }

    /**
     * Takes back what was lent, and gives everything back to the system, in this order: nothing new is begun; readers
     * and offloads under way end; the master is told; then memory and connections go.
     *
     * @return false when transfers of the disk still use memory, which is then left mapped.
     */
    boolean close() {
        if (closed) {
            return true;
        }
        if (replications != null) {
            replications.stop();
        }
        if (lentDevices != null) {
            lentDevices.stop();
        }
        try {
            CloseHelper.closeAll(work, copies, chores, endpoint, disk);
        } finally {
            // An index that could not be written does not keep the rest.
            if (mounts != null) {
                mounts.unmount();
            }
            if (disk == null || !disk.isAbandoned()) {
                closed = true;
                release();
            }
        }
        return closed;
    }

    private boolean isStagingInUse() {
        return engine != null && engine.abandoned() || devices != null && devices.isAbandoned();
    }

    private void release() {
        try {
            CloseHelper.closeAll(liveness, owners, segments, lent, exports, devices, lentDevices, engine);
        } finally {
            CloseHelper.closeAll(isStagingInUse() ? null : staging, master);
        }
    }
}
