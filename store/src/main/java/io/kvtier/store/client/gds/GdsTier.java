package io.kvtier.store.client.gds;

import io.kvtier.alloc.MemoryKind;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.alloc.Units;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.StoreStats;
import io.kvtier.store.client.call.BatchCalls;
import io.kvtier.store.client.engine.Engines;
import io.kvtier.store.client.engine.GdsEngines;
import io.kvtier.store.client.master.PutStarts;
import io.kvtier.store.client.owner.OwnerProtocol;
import io.kvtier.store.client.request.ObjectRead;
import io.kvtier.store.client.request.ReadRequest;
import io.kvtier.store.client.request.ValueMemory;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.GdsCommand.GdsState;
import io.kvtier.store.protocol.GdsCommand.GdsStorageSpec;
import io.kvtier.store.protocol.GdsCommand.GdsValue;
import io.kvtier.store.protocol.GdsCommand.Settlement;
import io.kvtier.store.protocol.GdsCommand.UnsettledExtent;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.GdsExtent;
import io.kvtier.store.protocol.ObjectCommand.PutStart;
import io.kvtier.store.replica.Locality;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.storage.Extent;
import io.kvtier.store.storage.GdsLease;
import io.kvtier.store.storage.GdsReservation;
import io.kvtier.store.storage.GdsStorageManager;
import io.kvtier.store.storage.GdsStorageStats;
import io.kvtier.store.storage.StoredExtent;
import io.kvtier.store.storage.Verdict;
import io.kvtier.transport.Capability;
import io.kvtier.transport.Closings;
import io.kvtier.transport.HostDetour;
import io.kvtier.transport.RareLog;
import io.kvtier.transport.Registration;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransportKind;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.UUID;
import org.agrona.CloseHelper;

/**
 * This client's own file for GDS replicas: it allocates there, the master says what goes.
 *
 * <p>What is in the file, and who reads it, is the {@link GdsStorageManager}'s; this class is its go-between to the
 * master: it registers the file, offers what is in it, makes room, frees what the master has dropped, asks what has
 * become of extents whose puts ended without an answer, and tells what was done.
 *
 * <p><b>Threading:</b> thread-safe. {@code kvtier-gds} frees, asks and tells; a put that finds no room frees by itself.
 * <b>Lifetime:</b> mounted once after it was opened, and again when the master has forgotten it; closed after the last
 * call on the store has ended. <b>Blocking:</b> on the master where that is said, on the file at the end of a move.
 */
public final class GdsTier implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(GdsTier.class.getName());
    /** Values that are offered to the master, or asked about, in one command. */
    private static final int STEP = 1024;

    private final UUID clientId;
    private final GdsConfig config;
    private final Master master;
    private final Staging staging;
    private final GdsCounters counters = new GdsCounters();
    private final TransferEngine engine;
    private final GdsStorageManager storage;
    /** Whether what is in memory of a GPU goes straight to the file. */
    private final boolean straightFromGpus;
    private final GdsRoom space;
    private final GdsReports reports;
    /** Memory that devices were told of. */
    private final List<Registration> prepared;
    /** How often the file was registered; only {@link #mount} counts, by one thread at a time. */
    private volatile int mounts;
    private final GdsUpkeep upkeep;
    private final RareLog notes = new RareLog(LOG);

    /**
     * Opens the file.
     *
     * @throws StoreException INVALID_PARAMS, saying which rule is not met and how to meet it, when it cannot be had the
     *                        way it was asked for; others when the file cannot be opened.
     */
    public GdsTier(final GdsConfig config, final Engines engines, final UUID clientId, final Master master) {
        this.config = config;
        this.clientId = clientId;
        this.master = master;
        try (Closings opened = new Closings()) {
            this.staging = opened.keep(new Staging(), Staging::close);
            this.engine = opened.keep(engines.gds(config), TransferEngine::close);
            this.storage = opened.keep(GdsStorageManager.open(new GdsStorageManager.Options(config.file(),
                Units.down(config.bytes(), StoreConfig.UNIT_BYTES), config.warmRestart()), engine, engines.opener()),
                GdsStorageManager::close);
            this.space = new GdsRoom(clientId, master, storage, config.file());
            this.reports = new GdsReports(master, clientId, storage.storageId(), storage.generation());
            // Refuses a file that the transport which was asked for cannot open.
            Engines.gdsFile(engine, config).close();
            this.straightFromGpus = GdsEngines.straight(engine, config).contains(MemoryKind.DEVICE);
            this.prepared = Engines.prepare(engine, List.of(staging.pool()));
            this.upkeep = new GdsUpkeep(config.file(), () -> tellQuietly(state()), this::freeAndSettle);
            storage.whenInDoubt(upkeep::wake);
            opened.stayOpen();
        }
    }

    /**
     * Registers the file, and offers what is in it. What the master does not want is freed.
     *
     * @param endpoint where this client answers reads of others; empty when it does not.
     */
    public void mount(final String endpoint) {
        // Before what is committed is listed: see mounts().
        mounts = mounts + 1;
        reports.begin();
        final long capacity = storage.capacityBytes();
        master.apply(new GdsCommand.RegisterGdsStorage(clientId, new GdsStorageSpec(storage.storageId(),
            storage.generation(), endpoint, capacity, (long) (config.highWatermark() * capacity),
            (long) (config.lowWatermark() * capacity))));
        offer(storage.recovered());
        offer(storage.committed());
        upkeep.start();
        wake();
    }

    private void offer(final List<StoredExtent> offers) {
        for (int from = 0; from < offers.size(); from += STEP) {
            final List<StoredExtent> part = offers.subList(from, Math.min(offers.size(), from + STEP));
            final List<Long> ids = BatchCalls.each(master.apply(new GdsCommand.AdoptGdsReplicas(clientId,
                part.stream().map(this::value).toList())), part.size());
            for (int i = 0; i < part.size(); i++) {
                if (ids.get(i) == GdsCommand.AdoptGdsReplicas.REFUSED) {
                    storage.refuse(part.get(i));
                } else if (!storage.adopt(part.get(i), ids.get(i))) {
                    // Dropped or replaced while it was offered.
                    forget(part.get(i).key(), part.get(i).version(), ids.get(i));
                }
            }
        }
    }

    private GdsValue value(final StoredExtent one) {
        return new GdsValue(one.key(), one.version(), one.size(), extent(one.extent()), one.checksummed(),
            one.checksum());
    }

    /** As the master names it. */
    GdsExtent extent(final Extent extent) {
        return new GdsExtent(storage.storageId(), storage.generation(), extent.offset(), extent.bytes());
    }

    /**
     * How often the file was registered. A put that was offered under an earlier registration may have ended well
     * without its replica here, which went with that registration; and what it commits now is offered by nobody.
     */
    int mounts() {
        return mounts;
    }

    /** Whether other clients may read what is in it through this one. */
    public boolean isReadByOthers() {
        return config.remoteReads();
    }

    /** Takes the file back, which is closed by now. */
    public void unmount() {
        // What was done since the last report is counted among what is past.
        tellQuietly(GdsState.UNKNOWN);
        master.apply(new GdsCommand.UnregisterGdsStorage(clientId, storage.storageId(), storage.generation()));
    }

    /**
     * Room for a value that is going to be put; asks the master to make some when there is none.
     *
     * @return the room, to be closed; null when there is none, or the value has no bytes.
     */
    public GdsWrite reserve(final ObjectKey key, final long size) {
        return holds(size) ? room(key, space.take(key, size)) : null;
    }

    /** Room for a value that nothing else can hold; as {@link GdsRoom#await}. */
    public GdsWrite awaitRoom(final PutStart command, final PutStarts starts, final long deadlineNanos) {
        return room(command.key(), space.await(command, starts, deadlineNanos));
    }

    private GdsWrite room(final ObjectKey key, final GdsReservation room) {
        return room == null ? null : new GdsWrite(this, key, room);
    }

    /** A put found no room here, now that it is over. */
    public void wentWithout(final long size) {
        if (holds(size)) {
            counters.noRoom.increment();
        }
    }

    /** Something has changed that puts which wait for room here may want to know. */
    public void lookAgain() {
        space.lookAgain();
    }

    /** Whether a value has a place in the file, were that empty. */
    public boolean holds(final long size) {
        return size > 0 && size <= storage.capacityBytes();
    }

    /** As {@link GdsRoom#removeDropped}. */
    public void removeDropped() {
        space.removeDropped();
    }

    /** Asks what has become of extents whose puts ended without an answer; true when some are still in doubt. */
    private boolean settle() {
        final List<io.kvtier.store.storage.UnsettledExtent> open = storage.unsettled(STEP);
        if (open.isEmpty()) {
            return false;
        }
        final List<Settlement> answers = BatchCalls.each(master.apply(new GdsCommand.SettleGdsExtents(clientId,
            open.stream().map(one -> new UnsettledExtent(one.key(), extent(one.extent()), one.replicaId())).toList())),
            open.size());
        for (int i = 0; i < open.size(); i++) {
            final Settlement answer = answers.get(i);
            final boolean complete = answer.version() != 0;
            final boolean readable = storage.settle(open.get(i), answer.replicaId() == 0 ? Verdict.GONE
                : complete ? Verdict.complete(answer.replicaId(), answer.version()) : Verdict.WAIT);
            if (complete && !readable) {
                forget(open.get(i).key(), answer.version(), answer.replicaId());
            }
        }
        return !storage.unsettled(1).isEmpty();
    }

    /** The master has a replica that is not there: nobody else could find it. */
    void forget(final ObjectKey key, final long version, final long replicaId) {
        try {
            master.apply(new ObjectCommand.ReplicaUnreadable(key, version, replicaId));
        } catch (final StoreException e) {
            // A reader that is sent here goes on to another replica.
            notes.warn("the master could not be told of a value that is not in " + config.file(), e::getMessage);
        }
    }

    /** There is something to free, or to ask. */
    public void wake() {
        upkeep.wake();
    }

    /** It is time to tell the master what was done with the file; its thread does. */
    public void reportSoon() {
        upkeep.reportSoon();
    }

    /** Tells the master what was done with the file, and how it is now. */
    public void report() {
        reports.tell(counters.sums(), state());
    }

    /** A master that does not hear of it hears the next time; that it does not answer, the pings say. */
    private void tellQuietly(final GdsState state) {
        try {
            reports.tell(counters.sums(), state);
        } catch (final StoreException e) {
            LOG.log(System.Logger.Level.DEBUG, "the master could not be told what was done with {0}: {1}",
                config.file(), e.getMessage());
        }
    }

    private boolean freeAndSettle() {
        space.freeDropped();
        return settle();
    }

    /** Whether a descriptor leads into this very file. */
    public boolean isOwn(final ReplicaDescriptor.Gds replica) {
        return replica.ownerClientId().equals(clientId) && file().isOf(replica);
    }

    /** The file as it is now. */
    public Locality.GdsFile file() {
        return new Locality.GdsFile(storage.storageId(), storage.generation());
    }

    /**
     * Starts to read a part of a value straight into a caller's memory.
     *
     * @param place   where it is, in this file.
     * @param read    what is wanted, and what the master said.
     * @param id      of the replica.
     * @param length  bytes.
     * @param alone   whether the caller finishes this read before it starts another.
     */
    public Move startRead(final ReplicaDescriptor.Gds place, final ObjectRead read, final long id, final long length,
        final boolean alone) {
        final ReadRequest request = read.request();
        final long version = read.object().version();
        final boolean straight = goesStraight(request.regions());
        if (straight) {
            // What an attempt over the host has left there must not be delivered in place of this.
            request.regions().unstage();
        }
        // Before the lease, which nobody would give back if there were no memory for it.
        final List<MemorySegment> target = straight ? List.of() : request.target(length);
        final GdsLease lease = storage.acquire(request.key(), version,
            new Extent(place.valueOffset(), place.allocatedSize()), place.valueSize());
        if (lease == null) {
            return gone(request.key(), version, id);
        }
        final GdsRead move = new GdsRead(this, lease, request.key(), version);
        return straight ? move.startStraight(request.offset(), request.regions().slices(length), alone)
            : move.startHost(request.offset(), target, length, alone);
    }

    /** What the master says is here is not: a sync that failed took it, for one. Nobody else could find it. */
    private Move gone(final ObjectKey key, final long version, final long replicaId) {
        counters.stale.increment();
        forget(key, version, replicaId);
        return Move.failed("it is not in " + config.file() + " any more");
    }

    /**
     * Whether a transfer reads into the memory as it is, though the processor cannot touch it.
     *
     * @param memory regions; null when segments were given, which are memory of the host.
     */
    public boolean goesStraight(final ValueMemory memory) {
        return memory != null && !memory.isHost() && straightFromGpus && memory.isStraight();
    }

    /**
     * Whether a transfer writes from the memory as it is. Memory of the host is written by system calls, which know
     * nothing of GPUDirect Storage: of a block that both change a part of, one could write back what the other has
     * changed meanwhile.
     */
    boolean isWrittenStraight(final ValueMemory memory) {
        return goesStraight(memory) && memory.isApart(StoreConfig.UNIT_BYTES);
    }

    /**
     * Starts to read a whole value for another client.
     *
     * @param target memory of at least the padded size.
     */
    public Move startRead(final OwnerProtocol.Wanted wanted, final RegionSlice target) {
        final GdsExtent place = wanted.place();
        if (!file().equals(new Locality.GdsFile(place.storageId(), place.generation()))) {
            return Move.failed(config.file() + " was made anew since");
        }
        final GdsLease lease = storage.acquire(wanted.key(), wanted.version(),
            new Extent(place.offset(), place.bytes()), wanted.size());
        if (lease == null) {
            return gone(wanted.key(), wanted.version(), wanted.replicaId());
        }
        final Move move = new GdsRead(this, lease, wanted.key(), wanted.version()).start(0,
            List.of(target.region().slice(target.offset(), wanted.size())), false);
        return new Move() {
            @Override
            public String finish() {
                final String problem = move.finish();
                if (problem == null) {
                    // Whoever asked compares the checksum, and tells the master of what is wrong.
                    answered(wanted.size());
                }
                return problem;
            }

            @Override
            public boolean isSettled() {
                return move.isSettled();
            }
        };
    }

    /** A get has been answered from the file, with what was written as far as that can be told. */
    public void answered(final long bytes) {
        counters.hits.increment();
        counters.readBytes.add(bytes);
    }

    /** Native memory as a transfer names it. */
    static List<RegionSlice> slices(final List<MemorySegment> pieces) {
        return pieces.stream().map(RegionSlice::of).toList();
    }

    /**
     * What has happened.
     *
     * @param atMaster what the master has counted.
     */
    public StoreStats.GdsStats stats(final GdsCommand.GdsCounts atMaster) {
        final GdsStorageStats now = storage.stats();
        return new StoreStats.GdsStats(
            new StoreStats.TierStats(now.capacityBytes(), now.usedBytes(), counters.hits.sum(),
                counters.readBytes.sum(), counters.writtenBytes.sum(), atMaster.evictions()),
            now.committed(), counters.puts.sum(), counters.onlyPuts.sum(), now.unsettled() + now.lost(), way(),
            new StoreStats.GdsFaults(counters.noRoom.sum(), counters.refused.sum(), counters.writeFailures.sum(),
                counters.readFailures.sum(), counters.stale.sum()));
    }

    private GdsState state() {
        final GdsStorageStats now = storage.stats();
        final TransportKind mover = config.transport().kind();
        final HostDetour detour = engine.capabilities().stream().filter(one -> one.kind() == mover)
            .map(Capability::detour).findFirst().orElse(HostDetour.NONE);
        return new GdsState(now.usedBytes(), now.committed(), now.unsettled() + now.lost(), detour, way());
    }

    private String way() {
        final TransportKind mover = config.transport().kind();
        return mover.configName() + ": " + engine.availability(mover).reason();
    }

    /** Moves what is in the file. */
    public TransferEngine engine() {
        return engine;
    }

    UUID clientId() {
        return clientId;
    }

    Master master() {
        return master;
    }

    Staging staging() {
        return staging;
    }

    GdsCounters counters() {
        return counters;
    }

    GdsStorageManager storage() {
        return storage;
    }

    /** Whether something may still use memory of the store after {@link #close()}: then it must stay mapped. */
    public boolean isAbandoned() {
        return engine.abandoned() || upkeep.isRunning();
    }

    @Override
    public void close() {
        upkeep.stop();
        try (Closings steps = new Closings()) {
            steps.add(this::closeStaging);
            steps.add(engine::close);
            steps.add(this::unprepare);
            steps.add(storage::close);
            if (upkeep.awaitEnd()) {
                steps.add(this::lastWords);
            }
        }
    }

    /** Through contexts of the engine's: before it is closed. What a device still uses stays as it is. */
    private void unprepare() {
        if (engine.outstanding() == 0) {
            CloseHelper.closeAll(prepared);
        }
    }

    private void closeStaging() {
        if (!engine.abandoned()) {
            staging.close();
        }
    }

    /** What was dropped and not freed yet would be found again by the next start. */
    private void lastWords() {
        try {
            space.freeDropped();
        } catch (final StoreException e) {
            LOG.log(System.Logger.Level.DEBUG, "the master could not be asked what to free in {0}: {1}", config.file(),
                e.getMessage());
        }
    }
}
