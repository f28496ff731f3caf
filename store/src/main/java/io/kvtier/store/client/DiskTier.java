package io.kvtier.store.client;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeException;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.TentConfig;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.storage.OffsetAllocatorBackend;
import io.kvtier.store.storage.StorageBackend;
import io.kvtier.store.storage.StoredValue;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.Transport;
import io.kvtier.transport.file.PosixTransport;
import io.kvtier.transport.file.UringConfig;
import io.kvtier.transport.file.UringTransport;
import io.kvtier.transport.memory.MemoryTransport;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.agrona.CloseHelper;

/**
 * The disk of an embedded store: transfer engine, backend, staging memory and the offloader.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> closed after the last call on the store has ended.
 */
final class DiskTier implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(DiskTier.class.getName());

    private final UUID clientId;
    private final StoreConfig config;
    private final Master master;
    private final HostRegion memory;
    private final Counters counters;
    private final TransferEngine engine;
    private final StorageBackend backend;
    private final Staging staging;
    private final Offloader offloader;

    private DiskTier(final StoreConfig config, final Master master, final HostRegion memory, final Counters counters,
        final UUID clientId, final TransferEngine engine, final StorageBackend backend) {
        this.clientId = clientId;
        this.config = config;
        this.master = master;
        this.memory = memory;
        this.counters = counters;
        this.engine = engine;
        this.backend = backend;
        this.staging = new Staging();
        this.offloader = new Offloader(clientId, master, backend, memory, counters, config.closeTimeoutMs());
    }

    static DiskTier open(final StoreConfig config, final StoreHooks hooks, final UUID clientId, final Master master,
        final HostRegion memory, final Counters counters) {
        final TransferEngine engine = openEngine(config, hooks);
        StorageBackend backend = null;
        try {
            backend = OffsetAllocatorBackend.open(new OffsetAllocatorBackend.Options(config.directory(),
                config.diskBytes(), config.diskHighWatermark(), config.diskLowWatermark()), engine, hooks.files());
            final DiskTier tier = new DiskTier(config, master, memory, counters, clientId, engine, backend);
            tier.mount(clientId);
            return tier;
        } catch (final RuntimeException e) {
            CloseHelper.closeAll(backend, engine);
            throw e;
        }
    }

    /**
     * Files by the C library, whose reads a calling thread does by itself; where {@code MC_TENT_CONF} is set, by the
     * transports for files that it switches on.
     */
    private static TransferEngine openEngine(final StoreConfig config, final StoreHooks hooks) {
        final TransferConfig base =
            new TransferConfig(TransferConfig.DEFAULT.sliceBytes(), config.closeTimeoutMs());
        final Optional<TentConfig> tent = TentConfig.from(hooks.environment());
        tent.ifPresent(set -> set.warnings().forEach(warning -> LOG.log(System.Logger.Level.WARNING, warning)));
        final List<Transport> transports = new ArrayList<>();
        transports.add(new MemoryTransport());
        if (tent.isPresent() && tent.get().uring()) {
            transports.add(new UringTransport(hooks.files(), UringConfig.DEFAULT, config.directIo()));
        }
        transports.add(new PosixTransport(hooks.files(), config.ioThreads(), config.directIo()));
        return TransferEngine.open(tent.map(set -> set.transfer(base)).orElse(base), transports);
    }

    private void mount(final UUID clientId) {
        master.apply(new DiskCommand.MountDisk(clientId, "", config.diskBytes()));
        final List<StoredValue> found = backend.recovered();
        final List<Boolean> adopted = master.apply(new DiskCommand.AdoptDisk(clientId,
            found.stream().map(Offloader::object).toList()));
        for (int i = 0; i < found.size(); i++) {
            if (!adopted.get(i)) {
                backend.remove(found.get(i).key(), found.get(i).version());
            }
        }
        offloader.start();
    }

    void wakeOffloader() {
        offloader.wake();
    }

    /**
     * Removes a value that the master has forgotten.
     *
     * @throws StoreException FILE_WRITE_FAIL when that could not be written down; the value cannot be read any more,
     *                        but may be found again after a restart.
     */
    void remove(final ObjectKey key, final long version) {
        backend.remove(key, version);
    }

    long capacityBytes() {
        return backend.capacityBytes();
    }

    long usedBytes() {
        return backend.usedBytes();
    }

    /**
     * Starts to read a value: into memory of the memory tier when the master gives some, so that it is promoted by the
     * same read, else into staging memory.
     *
     * @param alone whether the caller finishes this read before it starts another.
     * @return the read, or null when the backend does not have the value.
     */
    DiskRead startRead(final ObjectKey key, final ReadReply object, final long replicaId, final boolean alone) {
        final StorageBackend.ReadLease lease = backend.acquire(key, object.version());
        if (lease == null) {
            master.apply(new ObjectCommand.ReplicaUnreadable(key, object.version(), replicaId));
            return null;
        }
        return DiskRead.start(this, key, object, replicaId, lease, alone);
    }

    /** Forgets a value whose bytes could not be read or were wrong. */
    void dropUnreadable(final ObjectKey key, final long version, final long replicaId) {
        master.apply(new ObjectCommand.ReplicaUnreadable(key, version, replicaId));
        try {
            backend.remove(key, version);
        } catch (final StoreException e) {
            // Nobody asked for the removal; after a restart the value is found, fails again and goes.
            LOG.log(System.Logger.Level.WARNING, "the removal of unreadable value " + key + " could not be written", e);
        }
    }

    UUID clientId() {
        return clientId;
    }

    StoreConfig config() {
        return config;
    }

    Master master() {
        return master;
    }

    HostRegion memory() {
        return memory;
    }

    Counters counters() {
        return counters;
    }

    Staging staging() {
        return staging;
    }

    /** Whether something may still use the memory tier after {@link #close()}: then it must stay mapped. */
    boolean isAbandoned() {
        return offloader.isRunning() || engine.abandoned();
    }

    @Override
    public void close() {
        offloader.close();
        if (offloader.isRunning()) {
            return;
        }
        try {
            CloseHelper.closeAll(backend, engine);
        } catch (final NativeException e) {
            throw new StoreException(ErrorCode.FILE_WRITE_FAIL, "the store is closed, but the index log in "
                + config.directory() + " could not be written anew; what was durable before still is", e);
        } finally {
            if (!engine.abandoned()) {
                staging.close();
            }
        }
    }
}
