package io.kvtier.store.client.disk;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.NativeException;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.call.BatchCalls;
import io.kvtier.store.client.call.Counters;
import io.kvtier.store.client.engine.Engines;
import io.kvtier.store.client.owner.OwnerProtocol;
import io.kvtier.store.client.request.ReadRequest;
import io.kvtier.store.client.shared.DistributedPageBackend;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.ReplicaMemory;
import io.kvtier.store.client.transfer.ScatterGather;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.store.client.work.Offloader;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.storage.BackendOptions;
import io.kvtier.store.storage.StorageBackend;
import io.kvtier.store.storage.StorageBackends;
import io.kvtier.store.storage.StoredValue;
import io.kvtier.transport.Closings;
import io.kvtier.transport.Registration;
import io.kvtier.transport.TransferEngine;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import org.agrona.CloseHelper;

/**
 * A client's disk: transfer engine, backend, staging memory and the offloader.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> mounted once after it was opened, and again when the master has
 * forgotten it; closed after the last call on the store has ended.
 */
public final class DiskTier implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(DiskTier.class.getName());
    /** Values that are offered to the master, or asked for, in one command. */
    private static final int STEP = 1024;

    private final UUID clientId;
    private final DiskSettings settings;
    private final Master master;
    private final ReplicaMemory memory;
    private final Counters counters;
    private final TransferEngine engine;
    private final StorageBackend backend;
    private final Staging staging;
    private final Offloader offloader;
    /** Memory that devices were told of. */
    private final List<Registration> prepared;
    /** Held while values that the master has forgotten are removed; before the backend's locks and the master's. */
    private final ReentrantLock dropping = new ReentrantLock();
    /** Up to which number they are gone; under the lock. */
    private long dropsDone;

    /**
     * What a get wants of the disk.
     *
     * @param request   the get.
     * @param object    what the master said.
     * @param replicaId the replica on this disk.
     */
    public record Wanted(ReadRequest request, ReadReply object, long replicaId) {
    }

    private DiskTier(final DiskSettings settings, final Engines engines, final UUID clientId, final Master master,
        final ReplicaMemory memory, final Counters counters, final DistributedPageBackend pages) {
        this.clientId = clientId;
        this.settings = settings;
        this.master = master;
        this.memory = memory;
        this.counters = counters;
        try (Closings opened = new Closings()) {
            this.engine = opened.keep(engines.files(settings.disk().files().directIo(),
                settings.disk().files().ioThreads()),
                TransferEngine::close);
            this.backend = opened.keep(StorageBackends.open(backend(settings, engines), new BackendOptions(
                settings.disk().directory(), settings.disk().bytes(), settings.disk().highWatermark(),
                settings.disk().lowWatermark(), settings.host(), settings.disk().files().eviction()), engine,
                engines.opener()), StorageBackend::close);
            this.staging = opened.keep(new Staging(), Staging::close);
            this.offloader = new Offloader(clientId, master, new Offloader.Places(backend, pages), memory, counters,
                settings.closeTimeoutMs(), this::removeDropped);
            final HostRegion lasting = memory.lasting();
            this.prepared = Engines.prepare(engine, lasting == null ? List.of(staging.pool())
                : List.of(staging.pool(), lasting));
            opened.stayOpen();
        }
    }

    private static DiskBackend backend(final DiskSettings settings, final Engines engines) {
        final DiskBackend said = settings.disk().files().backend();
        return said == null ? DiskBackend.from(engines.environment()) : said;
    }

    /** Of a client without a shared disk. */
    public static DiskTier open(final DiskSettings settings, final Engines engines, final UUID clientId,
        final Master master, final ReplicaMemory memory, final Counters counters) {
        return open(settings, engines, clientId, master, memory, counters, null);
    }

    /**
     * Opens a client's own disk.
     *
     * @param pages where its offloader also takes values to; null without a shared disk.
     */
    public static DiskTier open(final DiskSettings settings, final Engines engines, final UUID clientId,
        final Master master, final ReplicaMemory memory, final Counters counters, final DistributedPageBackend pages) {
        return new DiskTier(settings, engines, clientId, master, memory, counters, pages);
    }

    /**
     * Offers the disk, and what is on it, to the master. What it does not want is removed.
     *
     * @param endpoint where this client answers reads of others; empty in the process of the master.
     */
    public void mount(final String endpoint) {
        master.apply(new DiskCommand.MountDisk(clientId, endpoint, settings.disk().bytes()));
        final List<StoredValue> found = backend.stored();
        for (int from = 0; from < found.size(); from += STEP) {
            final List<StoredValue> part = found.subList(from, Math.min(found.size(), from + STEP));
            final List<Boolean> adopted = BatchCalls.each(master.apply(new DiskCommand.AdoptDisk(clientId,
                part.stream().map(Offloader::object).toList())), part.size());
            for (int i = 0; i < part.size(); i++) {
                if (!adopted.get(i)) {
                    backend.remove(part.get(i).key(), part.get(i).version());
                }
            }
        }
        offloader.start();
    }

    /**
     * Removes what the master has forgotten, and tells it so. What was named in an answer that is lost is named again.
     * By the offloader's thread, and in an embedded store by whoever has removed or replaced something, one at a time.
     * A value that is stored meanwhile is wanted: the backend asks the master before it commits one.
     *
     * @throws StoreException FILE_WRITE_FAIL when a removal could not be written down: the master is not told, and
     *                        names them all again.
     */
    public void removeDropped() {
        dropping.lock();
        try {
            DiskCommand.Drops drops = master.apply(new DiskCommand.FetchDrops(clientId, STEP, dropsDone));
            while (!drops.values().isEmpty()) {
                removeAll(drops.values());
                dropsDone = drops.last();
                drops = master.apply(new DiskCommand.FetchDrops(clientId, STEP, dropsDone));
            }
        } finally {
            dropping.unlock();
        }
    }

    private void removeAll(final List<DiskCommand.StoredVersion> values) {
        StoreException first = null;
        for (final DiskCommand.StoredVersion value : values) {
            try {
                backend.remove(value.key(), value.version());
            } catch (final StoreException e) {
                first = first == null ? e : first;
            }
        }
        if (first != null) {
            throw first;
        }
    }

    /** The master has work for this disk. Never blocks. */
    public void workQueued(final WorkKind kind) {
        if (kind == WorkKind.OFFLOADS) {
            offloader.wake();
        } else if (kind == WorkKind.DROPS) {
            offloader.wakeForDrops();
        }
    }

    /** Whether the master does not know all that is on the disk, since an answer to it was lost: mount it again. */
    public boolean takeUnsettled() {
        return offloader.takeUnsettled();
    }

    /**
     * Removes a value that the master has forgotten.
     *
     * @throws StoreException FILE_WRITE_FAIL when that could not be written down; the value cannot be read any more,
     *                        but may be found again after a restart.
     */
    public void remove(final ObjectKey key, final long version) {
        backend.remove(key, version);
    }

    /** Bytes that the disk may take. */
    public long capacityBytes() {
        return backend.capacityBytes();
    }

    /** Bytes that are taken. */
    public long usedBytes() {
        return backend.usedBytes();
    }

    /** How many values it has. */
    public int values() {
        return backend.stored().size();
    }

    /**
     * Starts to read a value: into memory of the memory tier when the master gives some, so that it is promoted by the
     * same read, else into staging memory. A value that is not there, or not right, is reported to the master.
     *
     * @param length bytes that the get wants.
     * @param alone  whether the caller finishes this read before it starts another.
     */
    public Move startRead(final Wanted wanted, final long length, final boolean alone) {
        final ReadRequest request = wanted.request();
        return startRead(request.key(), wanted.object().version(), wanted.object().size(), wanted.replicaId(), null,
            value -> ScatterGather.scatter(value, request.offset(), length, request.target(length)), alone);
    }

    /**
     * Starts to read a value for another client.
     *
     * @param target memory of at least the padded size.
     */
    public Move startRead(final OwnerProtocol.Wanted wanted, final RegionSlice target) {
        return startRead(wanted.key(), wanted.version(), wanted.size(), wanted.replicaId(), DiskRoom.of(target),
            value -> { }, false);
    }

    /**
     * Copies a value to memory, this client's or another one's, as far as the master gives some.
     *
     * @return why that did not come to pass; null when it did, or the master wants it no more.
     */
    String promote(final DiskCommand.DiskPromotion task) {
        final StorageBackend.ReadLease lease = backend.acquire(task.key(), task.version());
        if (lease == null) {
            master.apply(new ObjectCommand.ReplicaUnreadable(task.key(), task.version(), task.replicaId()));
            return "it is not on the disk any more";
        }
        DiskRoom room = null;
        try {
            room = DiskRoom.promoted(this, task.key(), task.version(), lease.value().size());
        } finally {
            if (room == null) {
                lease.close();
            }
        }
        return room == null ? null : DiskRead.start(this, task.key(), task.replicaId(), lease, room,
            DiskRead.Receiver.NOBODY, true).finish();
    }

    private Move startRead(final ObjectKey key, final long version, final long size, final long replicaId,
        final DiskRoom room, final DiskRead.Receiver receiver, final boolean alone) {
        final StorageBackend.ReadLease lease = backend.acquire(key, version);
        if (lease == null) {
            master.apply(new ObjectCommand.ReplicaUnreadable(key, version, replicaId));
            return Move.failed("it is not on the disk any more");
        }
        if (lease.value().size() != size) {
            try (lease) {
                dropUnreadable(lease, replicaId);
            }
            return Move.failed("it has another size on the disk");
        }
        return DiskRead.start(this, key, replicaId, lease, room, receiver, alone);
    }

    /**
     * Forgets a copy whose bytes could not be read or were wrong. Between the two steps the value may be copied down
     * anew from elsewhere: that copy is not the one that is held, and stays.
     *
     * @param lease     the hold with which it was read, still open.
     * @param replicaId the replica that was read.
     */
    void dropUnreadable(final StorageBackend.ReadLease lease, final long replicaId) {
        final StoredValue value = lease.value();
        master.apply(new ObjectCommand.ReplicaUnreadable(value.key(), value.version(), replicaId));
        try {
            lease.discard();
        } catch (final StoreException e) {
            // Nobody waits for it; after a restart the value is found, is not wanted or fails again, and goes.
            LOG.log(System.Logger.Level.WARNING, "the removal of value " + value.key() + " could not be written", e);
        }
    }

    /**
     * The bytes are where they should be, whether the master hears of it or not; or they are not, and {@code settled}
     * says whether nothing of them is written any more.
     */
    void endPromotion(final ObjectKey key, final long replicaId, final boolean good, final boolean settled) {
        try {
            if (master.apply(new DiskCommand.PromotionEnd(clientId, key, replicaId, good, settled)) == Ack.OK && good) {
                backend.copiedUp(key);
            }
        } catch (final StoreException e) {
            LOG.log(System.Logger.Level.WARNING, "the master could not be told that {0} was copied up; it frees the "
                + "memory after a while by itself: {1}", key, e.getMessage());
        }
    }

    /** Whose disk it is. */
    public UUID clientId() {
        return clientId;
    }

    /** Moves what is on the disk. */
    public TransferEngine engine() {
        return engine;
    }

    DiskSettings settings() {
        return settings;
    }

    Master master() {
        return master;
    }

    ReplicaMemory memory() {
        return memory;
    }

    Counters counters() {
        return counters;
    }

    /** Memory that reads of values go through which a transfer cannot put where they are wanted. */
    public Staging staging() {
        return staging;
    }

    /** Whether something may still use the memory tier after {@link #close()}: then it must stay mapped. */
    public boolean isAbandoned() {
        return offloader.isRunning() || engine.abandoned();
    }

    private void closeBackend() {
        try {
            backend.close();
        } finally {
            // What a device still writes to stays as it is, as the engine leaves it too.
            if (engine.outstanding() == 0) {
                CloseHelper.closeAll(prepared);
            }
        }
    }

    @Override
    public void close() {
        offloader.close();
        if (offloader.isRunning()) {
            return;
        }
        try (engine) {
            closeBackend();
        } catch (final NativeException e) {
            throw new StoreException(ErrorCode.FILE_WRITE_FAIL, "the store is closed, but the index log in "
                + settings.disk().directory() + " could not be written anew; what was durable before still is", e);
        } finally {
            if (!engine.abandoned()) {
                staging.close();
            }
        }
    }
}
