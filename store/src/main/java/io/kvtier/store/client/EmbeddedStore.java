package io.kvtier.store.client;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeAccess;
import io.kvtier.bindings.NativeTag;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.StoreStats;
import io.kvtier.store.ValueInfo;
import io.kvtier.store.master.EmbeddedMaster;
import io.kvtier.store.master.state.Effects;
import io.kvtier.store.master.state.MasterSettings;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.RemoveReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.Locality;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.Gate;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Supplier;
import org.agrona.CloseHelper;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * A store in this process: master, memory tier and disk tier.
 *
 * <p><b>Threading:</b> thread-safe. State is the master's and the backend's; this class only moves calls to them.
 * <b>Lifetime:</b> owns memory, master, disk tier and the executor of asynchronous calls, and closes them in that
 * order reversed once no call is inside.
 */
public final class EmbeddedStore implements Store {
    /** A disk that failed is sent nothing for this long; meanwhile memory evicts without copying down. */
    private static final long DISK_RETRY_MS = 1_000;

    /** Some JVMs keep a few words of an array for themselves. */
    private static final long MAX_ARRAY_BYTES = Integer.MAX_VALUE - 8L;

    private final StoreConfig config;
    private final UUID clientId = UUID.randomUUID();
    private final Gate gate = new Gate();
    private final Pressure pressure = new Pressure();
    private final Counters counters = new Counters();
    private final HostRegion memory;
    private final Locality locality;
    private final EmbeddedMaster master;
    private final DiskTier disk;
    private final Writer writer;
    private final Reader reader;
    private final ReentrantLock closing = new ReentrantLock();
    /** Guarded by {@code closing}: everything has been given back. */
    private boolean released;
    private final ExecutorService async = Executors.newThreadPerTaskExecutor(
        Thread.ofVirtual().name("kvtier-async-", 0).factory());

    private EmbeddedStore(final StoreConfig config, final StoreHooks hooks) {
        this.config = config;
        this.memory = config.hugePages() ? HostRegion.allocateHuge(NativeTag.HOST_REGION, config.memoryBytes())
            : HostRegion.allocate(NativeTag.HOST_REGION, config.memoryBytes());
        EmbeddedMaster opened = null;
        try {
            opened = new EmbeddedMaster(MasterSettings.embedded(config.highWatermark(), config.evictionRatio(),
                config.leaseMs(), DISK_RETRY_MS), hooks.clockMs(), effects());
            final UUID segmentId = UUID.randomUUID();
            opened.apply(new SegmentCommand.Mount(clientId, new SegmentCommand.SegmentSpec("memory",
                SegmentCommand.Medium.MEMORY, config.memoryBytes(), StoreConfig.UNIT_BYTES,
                SegmentAddress.local(segmentId), true)));
            this.locality = new Locality(clientId, Set.of(segmentId), Set.of());
            disk = config.diskBytes() == 0 ? null
                : DiskTier.open(config, hooks, clientId, opened, memory, counters);
        } catch (final RuntimeException e) {
            CloseHelper.closeAll(opened, memory);
            throw e;
        }
        this.master = opened;
        this.writer = new Writer(clientId, config, master, memory, pressure, gate, counters);
        this.reader = new Reader(locality, master, memory, disk, counters);
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
        return new EmbeddedStore(config, hooks);
    }

    /** Called under no lock, by whatever thread applied a command; possibly before the constructor has ended. */
    private Effects effects() {
        return new Effects() {
            @Override
            public void workQueued(final UUID client, final WorkKind kind) {
                disk.wakeOffloader();
            }

            @Override
            public void spaceFreed() {
                pressure.signal();
            }
        };
    }

    @Override
    public PutOutcome put(final ObjectKey key, final MemorySegment... source) {
        return inside(() -> writer.put(key, List.of(source)));
    }

    @Override
    public GetOutcome get(final ObjectKey key, final MemorySegment... target) {
        return inside(() -> reader.get(ReadRequest.whole(key, List.of(target))));
    }

    @Override
    public GetOutcome getRange(final ObjectKey key, final long offset, final MemorySegment... target) {
        final List<MemorySegment> pieces = List.of(target);
        return inside(() -> reader.get(new ReadRequest(key, offset, ScatterGather.byteSize(pieces), pieces)));
    }

    @Override
    public Optional<byte[]> getBytes(final ObjectKey key) {
        return inside(() -> {
            while (true) {
                final long size = look(key).map(ValueInfo::size).orElse(0L);
                final byte[] bytes = new byte[arrayLength(key, size)];
                try {
                    final GetOutcome outcome =
                        reader.get(ReadRequest.whole(key, List.of(MemorySegment.ofArray(bytes))));
                    if (!outcome.hit()) {
                        return Optional.empty();
                    }
                    if (outcome.valueSize() == size) {
                        return Optional.of(bytes);
                    }
                } catch (final StoreException e) {
                    if (e.code() != ErrorCode.BUFFER_OVERFLOW) {
                        throw e;
                    }
                }
                // Replaced by a value of another size since it was looked at.
            }
        });
    }

    @Override
    public boolean exists(final ObjectKey key) {
        return inside(() -> master.apply(new ObjectCommand.Exists(key)));
    }

    @Override
    public Optional<ValueInfo> stat(final ObjectKey key) {
        return inside(() -> look(key));
    }

    @Override
    public RemoveOutcome remove(final ObjectKey key, final boolean force) {
        return inside(() -> removeInside(key, force));
    }

    @Override
    public List<BatchResult<PutOutcome>> putBatch(final List<Item> items) {
        return inside(() -> each(items, item -> writer.put(item.key(), item.memory())));
    }

    @Override
    public List<BatchResult<GetOutcome>> getBatch(final List<Item> items) {
        return inside(() -> reader.getBatch(items.stream()
            .map(item -> ReadRequest.whole(item.key(), item.memory())).toList()));
    }

    @Override
    public List<Boolean> existsBatch(final List<ObjectKey> keys) {
        return inside(() -> keys.stream().map(key -> master.apply(new ObjectCommand.Exists(key))).toList());
    }

    @Override
    public List<BatchResult<RemoveOutcome>> removeBatch(final List<ObjectKey> keys) {
        return inside(() -> each(keys, key -> removeInside(key, false)));
    }

    @Override
    public CompletableFuture<PutOutcome> putAsync(final ObjectKey key, final MemorySegment... source) {
        ScatterGather.requireShared(List.of(source));
        return later(() -> put(key, source));
    }

    @Override
    public CompletableFuture<GetOutcome> getAsync(final ObjectKey key, final MemorySegment... target) {
        ScatterGather.requireShared(List.of(target));
        return later(() -> get(key, target));
    }

    @Override
    public CompletableFuture<List<BatchResult<PutOutcome>>> putBatchAsync(final List<Item> items) {
        items.forEach(item -> ScatterGather.requireShared(item.memory()));
        return later(() -> putBatch(items));
    }

    @Override
    public CompletableFuture<List<BatchResult<GetOutcome>>> getBatchAsync(final List<Item> items) {
        items.forEach(item -> ScatterGather.requireShared(item.memory()));
        return later(() -> getBatch(items));
    }

    @Override
    public CompletableFuture<RemoveOutcome> removeAsync(final ObjectKey key, final boolean force) {
        return later(() -> remove(key, force));
    }

    @Override
    public StoreStats stats() {
        return inside(() -> {
            final MasterStats state = masterStats();
            return new StoreStats(state.objects(),
                new StoreStats.TierStats(state.memoryCapacity(), state.memoryUsed(), counters.memoryHits.sum(),
                    counters.memoryReadBytes.sum(), counters.memoryWrittenBytes.sum(), state.memoryEvictions()),
                new StoreStats.TierStats(disk == null ? 0 : disk.capacityBytes(), disk == null ? 0 : disk.usedBytes(),
                    counters.diskHits.sum(), counters.diskReadBytes.sum(), counters.diskWrittenBytes.sum(),
                    state.diskEvictions()),
                counters.misses.sum(), state.offloads(), state.offloadFailures(), state.promotions(),
                new StoreStats.TierFaults(counters.ioErrors.sum(), counters.checksumMismatches.sum()),
                counters.putWaits.sum());
        });
    }

    /**
     * Counters of the master, for tests of its invariants.
     *
     * @return a snapshot.
     */
    public MasterStats masterStats() {
        return master.apply(new AdminCommand.Statistics());
    }

    @Override
    public void close() {
        gate.close();
        // Puts that wait for room look at the gate when they are woken.
        pressure.signal();
        closing.lock();
        try {
            if (!released) {
                if (!gate.awaitEmpty(config.closeTimeoutMs())) {
                    throw stillRunning("calls");
                }
                release();
            }
        } finally {
            closing.unlock();
        }
    }

    private void release() {
        try {
            CloseHelper.closeAll(async, disk);
        } finally {
            if (disk == null || !disk.isAbandoned()) {
                released = true;
                CloseHelper.closeAll(master, memory);
            }
        }
        if (!released) {
            throw stillRunning("disk transfers");
        }
    }

    private StoreException stillRunning(final String what) {
        return new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, what + " were still running "
            + config.closeTimeoutMs() + " ms after the store was closed; its memory and files are left open, closing "
            + "again tries again");
    }

    private RemoveOutcome removeInside(final ObjectKey key, final boolean force) {
        final RemoveReply reply = master.apply(new ObjectCommand.Remove(key, force));
        if (reply.outcome() == RemoveOutcome.REMOVED && disk != null) {
            disk.remove(key, reply.version());
        }
        return reply.outcome();
    }

    private Optional<ValueInfo> look(final ObjectKey key) {
        final ReadReply reply = master.apply(new ObjectCommand.Query(key));
        if (!reply.found()) {
            return Optional.empty();
        }
        final List<ReplicaType> tiers = reply.replicas().stream().filter(Replica::isComplete).map(Replica::type)
            .sorted().distinct().toList();
        return Optional.of(new ValueInfo(reply.size(), tiers));
    }

    private static int arrayLength(final ObjectKey key, final long size) {
        if (size > MAX_ARRAY_BYTES) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "value " + key + " has " + size
                + " bytes, more than an array can hold; read it into memory segments");
        }
        return (int) size;
    }

    private <T> T inside(final Supplier<T> call) {
        if (!gate.tryEnter()) {
            throw closedException();
        }
        try {
            return call.get();
        } finally {
            gate.leave();
        }
    }

    private <T> CompletableFuture<T> later(final Supplier<T> call) {
        try {
            return CompletableFuture.supplyAsync(call, async);
        } catch (final RejectedExecutionException e) {
            return CompletableFuture.failedFuture(closedException());
        }
    }

    private static <A, T> List<BatchResult<T>> each(final List<A> items, final Function<A, T> call) {
        final List<BatchResult<T>> results = new ArrayList<>(items.size());
        for (final A item : items) {
            try {
                results.add(new BatchResult<>(call.apply(item), null));
            } catch (final RuntimeException e) {
                results.add(Reader.failed(e));
            }
        }
        return results;
    }

    static StoreException closedException() {
        return new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "the store is closed; open another one");
    }
}
