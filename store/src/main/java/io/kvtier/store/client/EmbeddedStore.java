package io.kvtier.store.client;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeAccess;
import io.kvtier.bindings.NativeTag;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.call.Counters;
import io.kvtier.store.client.call.Pressure;
import io.kvtier.store.client.disk.DiskSettings;
import io.kvtier.store.client.disk.DiskTier;
import io.kvtier.store.client.engine.Engines;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.client.gds.GdsTier;
import io.kvtier.store.client.master.PressedStarts;
import io.kvtier.store.client.read.Reader;
import io.kvtier.store.client.request.ReadTerms;
import io.kvtier.store.client.transfer.EmbeddedMemory;
import io.kvtier.store.client.transfer.ReplicaMemory;
import io.kvtier.store.client.write.Writer;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.master.EmbeddedMaster;
import io.kvtier.store.master.state.Effects;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.Locality;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.Closings;
import io.kvtier.transport.Gate;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import org.agrona.CloseHelper;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * A store in this process: master, memory tier, disk tier and file for GDS offload.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> owns memory, master, disk tier, file and the executor of
 * asynchronous calls, and closes them in that order reversed once no call is inside.
 */
public final class EmbeddedStore extends ClientStore {
    private static final System.Logger LOG = System.getLogger(EmbeddedStore.class.getName());
    /** A disk that failed is sent nothing for this long; meanwhile memory evicts without copying down. */
    private static final long DISK_RETRY_MS = 1_000;

    private final StoreConfig config;
    private final Signals signals;
    private final EmbeddedMaster master;
    private final ReplicaMemory memory;
    private final ReentrantLock closing = new ReentrantLock();
    /** Guarded by {@code closing}: everything has been given back. */
    private boolean released;

    /** What the master asks for, called under no lock by whatever thread applied a command. */
    private static final class Signals implements Effects {
        private final Pressure pressure = new Pressure();
        /** Null until it is there, and without one: then nothing is asked of it. */
        private volatile DiskTier disk;
        /** As with the disk. */
        private volatile GdsTier file;

        @Override
        public void workQueued(final UUID client, final WorkKind kind) {
            if (kind == WorkKind.GDS_DROPS) {
                if (file != null) {
                    file.wake();
                }
            } else if (disk != null) {
                disk.workQueued(kind);
            }
        }

        @Override
        public void spaceFreed() {
            pressure.signal();
            if (file != null) {
                file.lookAgain();
            }
        }
    }

    private EmbeddedStore(final StoreConfig config, final StoreHooks hooks, final Signals signals,
        final EmbeddedMaster master, final ReplicaMemory memory, final Parts parts) {
        super(parts, hooks, config.closeTimeoutMs());
        this.config = config;
        this.signals = signals;
        this.master = master;
        this.memory = memory;
    }

    /**
     * Opens a store.
     *
     * @param config what it may use.
     * @param hooks  clock and files.
     * @return the store.
     */
    public static EmbeddedStore open(final StoreConfig config, final StoreHooks hooks) {
        NativeAccess.require(UnsafeBuffer.class);
        final Engines engines = Engines.embedded(hooks, config);
        final UUID clientId = UUID.randomUUID();
        final UUID segmentId = UUID.randomUUID();
        final Signals signals = new Signals();
        final Counters counters = new Counters();
        final Gate gate = new Gate();
        try (Closings opened = new Closings()) {
            final EmbeddedMemory memory = opened.keep(new EmbeddedMemory(config.memory().hugePages()
                ? HostRegion.allocateHuge(NativeTag.HOST_REGION, config.memory().bytes())
                : HostRegion.allocate(NativeTag.HOST_REGION, config.memory().bytes())), EmbeddedMemory::close);
            final EmbeddedMaster master = opened.keep(new EmbeddedMaster(MasterSettings.embedded(
                config.memory().highWatermark(), config.memory().evictionRatio(), config.leaseMs(), DISK_RETRY_MS),
                hooks.clockMs(), signals), EmbeddedMaster::close);
            master.apply(new SegmentCommand.Mount(clientId, new SegmentCommand.SegmentSpec("memory",
                SegmentCommand.Medium.MEMORY, config.memory().bytes(), StoreConfig.UNIT_BYTES,
                SegmentAddress.local(segmentId), true)));
            final DiskTier disk = config.disk().bytes() == 0 ? null : opened.keep(DiskTier.open(
                DiskSettings.of(config), engines, clientId, master, memory, counters), DiskTier::close);
            if (disk != null) {
                signals.disk = disk;
                disk.mount("");
            }
            final GdsTier file = openFile(opened, engines, clientId, master);
            if (file != null) {
                signals.file = file;
                file.mount("");
            }
            final Locality locality = new Locality(clientId, Set.of(segmentId), Set.of(),
                file == null ? null : file.file(), false);
            final Reader reader = new Reader(new Reader.Sources(() -> locality, master, memory, null, disk, file, null,
                null, null, counters), ReadTerms.held(config.verifyDiskReads()));
            final Writer writer = new Writer(clientId, master,
                new PressedStarts(master, signals.pressure, gate, counters, config.putTimeoutMs()),
                new Writer.Places(memory, null, file), counters, Long.MAX_VALUE);
            final EmbeddedStore store = new EmbeddedStore(config, hooks, signals, master, memory,
                new Parts(master, reader, writer, disk, file, null, gate, counters, ObjectKey.DEFAULT_TENANT));
            opened.stayOpen();
            return store;
        }
    }

    /** Null when there is to be none. */
    private static GdsTier openFile(final Closings opened, final Engines engines, final UUID clientId,
        final EmbeddedMaster master) {
        return engines.offload().bytes() == 0 ? null : opened.keep(new GdsTier(engines.offload(), engines, clientId,
            master), GdsTier::close);
    }

    /** There are no pings here at whose rhythm the master would be told of the file. */
    @Override
    public MasterStats masterStats() {
        if (parts().file() != null) {
            parts().file().report();
        }
        return super.masterStats();
    }

    @Override
    void removed(final ObjectKey key, final long version) {
        if (parts().disk() != null) {
            parts().disk().remove(key, version);
        }
        if (parts().file() != null) {
            parts().file().removeDropped();
        }
    }

    /** Before the call returns, or what was removed could come back after a crash. */
    @Override
    void removedSome() {
        if (parts().disk() != null) {
            writeDown(parts().disk()::removeDropped, () -> parts().disk().workQueued(WorkKind.DROPS));
        }
        if (parts().file() != null) {
            writeDown(parts().file()::removeDropped, parts().file()::wake);
        }
    }

    private static void writeDown(final Runnable removal, final Runnable again) {
        try {
            removal.run();
        } catch (final StoreException e) {
            if (e.code() != ErrorCode.FILE_WRITE_FAIL) {
                throw e;
            }
            LOG.log(System.Logger.Level.WARNING, "what was removed or replaced could not be written down yet, so a "
                + "restart may find it again; it is tried again", e);
            again.run();
        }
    }

    @Override
    public void close() {
        parts().gate().close();
        // Puts that wait for room look at the gate when they are woken.
        signals.spaceFreed();
        closing.lock();
        try {
            if (!released) {
                if (!parts().gate().awaitEmpty(config.closeTimeoutMs())) {
                    throw stillRunning("calls", config.closeTimeoutMs());
                }
                release();
            }
        } finally {
            closing.unlock();
        }
    }

    private void release() {
        final DiskTier disk = parts().disk();
        final GdsTier file = parts().file();
        try {
            CloseHelper.closeAll(async(), regions(), file, disk);
        } finally {
            if ((disk == null || !disk.isAbandoned()) && (file == null || !file.isAbandoned())) {
                released = true;
                CloseHelper.closeAll(master, memory);
            }
        }
        if (!released) {
            throw stillRunning("transfers of the disk or the file", config.closeTimeoutMs());
        }
    }
}
