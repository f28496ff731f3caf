package io.kvtier.store.client;

import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.NativeAccess;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.call.Counters;
import io.kvtier.store.client.device.BlockDevices;
import io.kvtier.store.client.device.LentDevices;
import io.kvtier.store.client.disk.DiskSettings;
import io.kvtier.store.client.disk.DiskTier;
import io.kvtier.store.client.engine.Engines;
import io.kvtier.store.client.engine.Exports;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.client.gds.GdsTier;
import io.kvtier.store.client.lending.ConnectedMemory;
import io.kvtier.store.client.lending.LentMemory;
import io.kvtier.store.client.lending.Mounts;
import io.kvtier.store.client.master.Liveness;
import io.kvtier.store.client.master.MasterLink;
import io.kvtier.store.client.master.WaitingStarts;
import io.kvtier.store.client.owner.GdsOwners;
import io.kvtier.store.client.owner.OwnerEndpoint;
import io.kvtier.store.client.owner.OwnerProtocol;
import io.kvtier.store.client.owner.OwnerReads;
import io.kvtier.store.client.read.Reader;
import io.kvtier.store.client.request.ReadTerms;
import io.kvtier.store.client.shared.DistributedPageBackend;
import io.kvtier.store.client.shared.KeyFileTier;
import io.kvtier.store.client.shared.SharedDiskTier;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.RemoteSegments;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.store.client.work.Offloader;
import io.kvtier.store.client.work.Promoter;
import io.kvtier.store.client.work.Replications;
import io.kvtier.store.client.work.WorkLoop;
import io.kvtier.store.client.write.Writer;
import io.kvtier.store.protocol.SegmentCommand.Ping;
import io.kvtier.store.protocol.SegmentCommand.PingReply;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.Locality;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.Closings;
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
import org.agrona.concurrent.UnsafeBuffer;

/**
 * What a connected store is made of, opened in the order in which one needs the other and closed in reverse.
 *
 * <p><b>Threading:</b> {@code kvtier-ping} tells the master that the client is alive, {@code kvtier-work} waits for
 * work, {@code kvtier-chores} lends anew, {@code kvtier-copies} carries out copies, {@code kvtier-offloader} writes to
 * the disk, {@code kvtier-nof} looks at block devices, {@code kvtier-gds} frees room in the file for GDS replicas and
 * tells what is done with it, {@code kvtier-key-files} writes files of single values; none waits for another.
 * <b>Lifetime:</b> closed by one thread at a time; as often as it takes.
 */
final class ConnectedParts {
    /** How long a value that was read from disk for another client stays for it. */
    private static final long OWNER_LEASE_MS = 5_000;
    private static final long IDLE_MS = 60_000;

    private final ConnectConfig config;
    private final MasterLink master;
    private final Gate gate = new Gate();
    private final UUID clientId = UUID.randomUUID();
    private final Counters counters = new Counters();
    /** A platform thread: finding memory for a shared file is one call of the system, of seconds where it is much. */
    private final ExecutorService chores =
        Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("kvtier-chores").factory());
    /** Copies may take long; memory is lent anew meanwhile. */
    private final ExecutorService copies =
        Executors.newSingleThreadExecutor(Thread.ofVirtual().name("kvtier-copies").factory());
    private final AtomicBoolean copying = new AtomicBoolean();
    /** Memory, connections and pings: closed when the master has been told that this client leaves. */
    private final Closings base = new Closings();
    /** What others, or the master, give work to: closed before that. */
    private final Closings served = new Closings();
    private final boolean serves;
    private final RemoteSegments segments;
    private final LentMemory lent;
    private final ConnectedMemory memory;
    private final LentDevices lentDevices;
    private final BlockDevices devices;
    private final Replications replications;
    private final OwnerReads owners;
    /** Null when this client has none. */
    private final DiskTier disk;
    /** For GDS replicas; null when this client has none. */
    private final GdsTier file;
    /** Files that all hosts mount; null when this client has none. */
    private final SharedDiskTier shared;
    /** Takes values to these files; null when the disk's own does, or nothing is lent. */
    private final Offloader sharing;
    /** Copies values from there to memory; null when this client has none. */
    private final Promoter promoter;
    private final AtomicBoolean promoting = new AtomicBoolean();
    /** Files of single values that all hosts mount. */
    private final KeyFileTier keyFiles;
    /** Where disk and file are read by others; empty when they are not. */
    private final String endpoint;
    private final Mounts mounts;
    private final Liveness liveness;
    private final WorkLoop work;
    /** Transfers were left running that may use staging memory: it stays mapped then. */
    private boolean stagingInUse;
    private boolean closed;

    /**
     * Opens everything; when this throws, all that was opened is closed again. Nothing is lent yet.
     *
     * @param master closed with the others, and when this throws.
     */
    ConnectedParts(final ConnectConfig config, final StoreHooks hooks, final MasterLink master) {
        this.config = config;
        this.master = master;
        try (Closings opened = new Closings()) {
            opened.add(base::close);
            opened.add(served::close);
            base.keep(master, MasterLink::close);
            final Engines engines = Engines.connected(hooks, config);
            final GdsConfig offload = engines.offload();
            serves = config.lending().memoryBytes() > 0 || config.disk().bytes() > 0 || offload.bytes() > 0;
            NativeAccess.require(UnsafeBuffer.class);
            requireLeases();
            final Staging staging = base.keep(new Staging(), this::closeStaging);
            final TransferEngine engine = base.keep(engines.memory(), this::closeEngine);
            lentDevices = base.keep(LentDevices.open(clientId, master, config.nof(), hooks.files()),
                LentDevices::close);
            devices = base.keep(new BlockDevices(master, lentDevices.endpoints(), () -> engines.files(true,
                config.disk().files().ioThreads()), staging, config.timeouts().transferMs()), this::closeDevices);
            final Exports exports =
                serves ? base.keep(new Exports(engines.overTcp() ? segmentServer() : null,
                    config.listening().advertised()), Exports::close) : null;
            lent = base.keep(new LentMemory(exports, config.lending().segmentName(),
                config.lending().memoryBytes(), engines.shared()),
                LentMemory::close);
            segments = base.keep(new RemoteSegments(engine), RemoteSegments::close);
            memory = new ConnectedMemory(lent, segments, engine, staging);
            replications = new Replications(clientId, master, memory, staging, config.timeouts().transferMs());
            owners = base.keep(new OwnerReads(this::rpcClient, new OwnerReads.Reach(engine, segments, staging,
                counters, new GdsOwners(master), config.timeouts().rpcMs(), config.timeouts().transferMs())),
                OwnerReads::close);
            shared = !engines.sharedDisk().isThere() ? null : base.keep(new SharedDiskTier(engines.sharedDisk(),
                engines, clientId, master, staging), this::closeShared);
            final DistributedPageBackend pages = shared == null ? null : shared.pages();
            disk = config.disk().bytes() == 0 ? null : served.keep(DiskTier.open(DiskSettings.of(config), engines,
                clientId, master, memory, counters, pages), DiskTier::close);
            // Where there is a disk of this client's own, one thread takes values to both.
            sharing = pages == null || disk != null || !lent.isAny() ? null : served.keep(new Offloader(clientId,
                master, new Offloader.Places(null, pages), memory, counters, config.timeouts().closeMs(), () -> { }),
                Offloader::close);
            file = offload.bytes() == 0 ? null : served.keep(new GdsTier(offload, engines, clientId, master),
                GdsTier::close);
            promoter = shared == null ? null : new Promoter(clientId, master, shared.reader(), memory, staging,
                config.timeouts().transferMs());
            keyFiles = served.keep(new KeyFileTier(clientId, master, memory, staging, hooks.files(),
                config.timeouts().closeMs()), KeyFileTier::close);
            final boolean readByOthers = disk != null || file != null && file.isReadByOthers();
            endpoint = !readByOthers ? "" : HostPort.of(config.listening().advertised(),
                openEndpoint(exports, engines).listening()).toString();
            served.keep(chores, ExecutorService::close);
            served.keep(copies, ExecutorService::close);
            mounts = new Mounts(clientId, master, lent, lentDevices,
                new Mounts.Own(disk, file, shared, keyFiles, offload.remoteReads()), endpoint);
            // Again, with the endpoint.
            liveness = base.keep(new Liveness(master, ping(endpoint), master.apply(ping(endpoint)), chores, duties()),
                Liveness::close);
            work = served.keep(new WorkLoop(master, clientId, this::workQueued), WorkLoop::close);
            opened.stayOpen();
        }
    }

    /** Before anything is opened: a master that does not answer is what goes wrong most often. */
    private void requireLeases() {
        final PingReply first = master.apply(ping(""));
        if (first.leaseMs() <= 0) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_MODE, "the master gives no leases, without which "
                + "a reader in another process cannot know whether the bytes it read are still those of its value; "
                + "give the master a lease of some seconds");
        }
    }

    private OwnerEndpoint openEndpoint(final Exports exports, final Engines engines) {
        return served.keep(new OwnerEndpoint(rpcServer(), exports,
            new OwnerEndpoint.Buffers(config.lending().stagingBytes(), engines.shared(), OWNER_LEASE_MS),
            this::startRead), OwnerEndpoint::close);
    }

    /** For another client. */
    private Move startRead(final OwnerProtocol.Wanted wanted, final RegionSlice target) {
        if (wanted.place() == null) {
            return disk == null ? Move.failed("this client has no disk") : disk.startRead(wanted, target);
        }
        return file == null ? Move.failed("this client has no file for GDS replicas") : file.startRead(wanted, target);
    }

    /** Lends what there is to lend, and begins to work. When this throws, {@link #close} takes back what was lent. */
    void start() {
        liveness.start();
        lentDevices.start(liveness::isSettled);
        if (works()) {
            work.start();
        }
    }

    /** Whether the master may have work for this client. */
    private boolean works() {
        return serves || shared != null;
    }

    private void mount() {
        mounts.mount();
        if (sharing != null) {
            sharing.start();
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

    private Liveness.Duties duties() {
        return new Liveness.Duties() {
            @Override
            public boolean lends() {
                return lent.isAny() || disk != null || file != null || shared != null || lentDevices.isLending();
            }

            @Override
            public void mount() {
                ConnectedParts.this.mount();
            }

            @Override
            public void remount() {
                mount();
                if (works()) {
                    work.lookForAll();
                }
            }

            @Override
            public void tick() {
                segments.sweep();
                devices.sweep();
                owners.sweep(System.nanoTime());
                if (file != null) {
                    file.reportSoon();
                }
                if (disk != null && disk.takeUnsettled()) {
                    chore(chores, mounts::mountDisk);
                }
                if (mounts.takeSharedMissing()) {
                    chore(chores, mounts::mountShared);
                }
                final SegmentAddress returned = mounts.takeUnended();
                if (returned != null) {
                    chore(chores, () -> mounts.endReturn(returned));
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
        } else if (kind == WorkKind.PROMOTIONS) {
            if (promoter != null && promoting.compareAndSet(false, true)) {
                chore(copies, () -> {
                    promoting.set(false);
                    promoter.run();
                });
            }
        } else if (kind == WorkKind.KEY_FILES) {
            keyFiles.wake();
        } else if (kind == WorkKind.GDS_DROPS) {
            if (file != null) {
                file.wake();
            }
        } else if (disk != null) {
            disk.workQueued(kind);
        } else if (kind == WorkKind.OFFLOADS && sharing != null) {
            sharing.wake();
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
        final Reader reader = new Reader(new Reader.Sources(this::locality, master, memory, devices, disk, file,
            shared, keyFiles, owners, counters), new ReadTerms(false, config.verify(), config.verify(),
            config.timeouts().transferMs()));
        final Writer writer = new Writer(clientId, master,
            new WaitingStarts(master, gate, counters, config.timeouts().putMs()),
            new Writer.Places(memory, devices, file), counters, config.timeouts().transferMs());
        return new ClientStore.Parts(master, reader, writer, disk, file, shared, gate, counters,
            config.identity().tenant());
    }

    private Locality locality() {
        return mounts.locality();
    }

    List<String> addresses() {
        final List<String> all = new ArrayList<>();
        if (lent.address() != null) {
            all.addAll(Arrays.asList(lent.address().endpoint().split(" ")));
        }
        all.addAll(lentDevices.endpoints().values());
        if (!endpoint.isEmpty()) {
            all.add(endpoint);
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
        replications.stop();
        if (promoter != null) {
            promoter.stop();
        }
        lentDevices.stop();
        // An index that could not be written, or a master that is not told, does not keep the rest.
        try (Closings steps = new Closings()) {
            steps.add(this::closeBase);
            steps.add(mounts::unmount);
            steps.add(served::close);
        }
        return closed;
    }

    private void closeBase() {
        final boolean diskInUse = disk != null && disk.isAbandoned();
        final boolean fileInUse = file != null && file.isAbandoned();
        if (diskInUse) {
            served.keep(disk, DiskTier::close);
        }
        if (fileInUse) {
            served.keep(file, GdsTier::close);
        }
        final boolean keyFilesInUse = keyFiles.isRunning();
        if (keyFilesInUse) {
            served.keep(keyFiles, KeyFileTier::close);
        }
        final boolean sharingInUse = sharing != null && sharing.isRunning();
        if (sharingInUse) {
            served.keep(sharing, Offloader::close);
        }
        if (!diskInUse && !fileInUse && !sharingInUse && !keyFilesInUse) {
            closed = true;
            base.close();
        }
    }

    private void closeEngine(final TransferEngine engine) {
        engine.close();
        stagingInUse |= engine.abandoned();
    }

    private void closeDevices(final BlockDevices them) {
        them.close();
        stagingInUse |= them.isAbandoned();
    }

    private void closeShared(final SharedDiskTier them) {
        them.close();
        stagingInUse |= them.isAbandoned();
    }

    private void closeStaging(final Staging staging) {
        if (!stagingInUse) {
            staging.close();
        }
    }
}
