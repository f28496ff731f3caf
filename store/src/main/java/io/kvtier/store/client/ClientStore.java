package io.kvtier.store.client;

import io.kvtier.alloc.MemoryRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RegionItem;
import io.kvtier.store.RegionPart;
import io.kvtier.store.RegisteredRegion;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreException;
import io.kvtier.store.StoreStats;
import io.kvtier.store.ValueInfo;
import io.kvtier.store.client.call.BatchCalls;
import io.kvtier.store.client.call.Counters;
import io.kvtier.store.client.call.Refusals;
import io.kvtier.store.client.disk.DiskTier;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.client.gds.GdsTier;
import io.kvtier.store.client.read.Reader;
import io.kvtier.store.client.request.CallerRegions;
import io.kvtier.store.client.request.PutRequest;
import io.kvtier.store.client.request.ReadRequest;
import io.kvtier.store.client.request.ValueMemory;
import io.kvtier.store.client.shared.SharedDiskTier;
import io.kvtier.store.client.transfer.ScatterGather;
import io.kvtier.store.client.write.Writer;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.FindReply;
import io.kvtier.store.protocol.ObjectCommand.RemoveReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.Gate;
import io.kvtier.transport.TransferEngine;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The calls of a store, over whatever master and memory it has.
 *
 * <p><b>Threading:</b> thread-safe. State is the master's and the backend's; this class only moves calls to them.
 */
abstract sealed class ClientStore implements Store permits EmbeddedStore, ConnectedStore {
    /** Some JVMs keep a few words of an array for themselves. */
    private static final long MAX_ARRAY_BYTES = Integer.MAX_VALUE - 8L;
    /** How often a value is read whose size is another one each time. */
    private static final int MOST_SIZES = 64;

    private final Parts parts;
    private final CallerRegions regions;
    private final ExecutorService async = Executors.newThreadPerTaskExecutor(
        Thread.ofVirtual().name("kvtier-async-", 0).factory());

    /**
     * What a store is made of.
     *
     * @param master   knows where everything is.
     * @param reader   gets.
     * @param writer   puts.
     * @param disk     this client's own; null without one.
     * @param file     this client's own for GDS replicas; null without one.
     * @param shared   files that all hosts mount; null without any.
     * @param gate     open as long as the store is.
     * @param counters of this client.
     * @param tenant   whose keys are that name no tenant.
     */
    record Parts(Master master, Reader reader, Writer writer, DiskTier disk, GdsTier file,
                 SharedDiskTier shared, Gate gate, Counters counters, String tenant) {
        /** Those that move bytes of files. */
        List<TransferEngine> files() {
            return Stream.concat(Stream.ofNullable(disk).map(DiskTier::engine),
                Stream.ofNullable(file).map(GdsTier::engine)).toList();
        }
    }

    ClientStore(final Parts parts, final StoreHooks hooks, final long closeTimeoutMs) {
        this.parts = parts;
        this.regions = new CallerRegions(hooks.devices(), parts.files(),
            closeTimeoutMs);
    }

    /** A value was removed by a call of this client. */
    abstract void removed(ObjectKey key, long version);

    /** Several values were removed, or one was replaced, by a call of this client. */
    abstract void removedSome();

    final Parts parts() {
        return parts;
    }

    final ExecutorService async() {
        return async;
    }

    /** To be closed when no call is inside, before the engines that know what was registered. */
    final CallerRegions regions() {
        return regions;
    }

    @Override
    public PutOutcome put(final ObjectKey key, final PutOptions options, final MemorySegment... source) {
        return inside(() -> parts.writer().put(PutRequest.of(named(key), List.of(source), options, false)));
    }

    @Override
    public PutOutcome upsert(final ObjectKey key, final PutOptions options, final MemorySegment... source) {
        return inside(() -> {
            final PutOutcome outcome =
                parts.writer().put(PutRequest.of(named(key), List.of(source), options, true));
            removedSome();
            return outcome;
        });
    }

    @Override
    public GetOutcome get(final ObjectKey key, final MemorySegment... target) {
        return inside(() -> parts.reader().get(ReadRequest.whole(named(key), List.of(target))));
    }

    @Override
    public GetOutcome getRange(final ObjectKey key, final long offset, final MemorySegment... target) {
        final List<MemorySegment> pieces = List.of(target);
        return inside(() -> parts.reader().get(ReadRequest.part(named(key), offset, pieces)));
    }

    @Override
    public PutOutcome put(final ObjectKey key, final PutOptions options, final List<RegionSlice> source) {
        return inside(() -> putRegions(key, options, source, false));
    }

    @Override
    public PutOutcome upsert(final ObjectKey key, final PutOptions options, final List<RegionSlice> source) {
        return inside(() -> {
            final PutOutcome outcome = putRegions(key, options, source, true);
            removedSome();
            return outcome;
        });
    }

    private PutOutcome putRegions(final ObjectKey key, final PutOptions options, final List<RegionSlice> source,
        final boolean replace) {
        try (ValueMemory memory = regions.enter(source)) {
            return parts.writer().put(PutRequest.of(named(key), memory, options, replace));
        }
    }

    @Override
    public GetOutcome get(final ObjectKey key, final List<RegionSlice> target) {
        return inside(() -> {
            try (ValueMemory memory = regions.enter(target)) {
                return parts.reader().get(ReadRequest.whole(named(key), memory));
            }
        });
    }

    @Override
    public GetOutcome getRange(final ObjectKey key, final long offset, final List<RegionSlice> target) {
        return inside(() -> {
            try (ValueMemory memory = regions.enter(target)) {
                return parts.reader().get(ReadRequest.part(named(key), offset, memory));
            }
        });
    }

    @Override
    public RegisteredRegion register(final MemoryRegion region) {
        return inside(() -> regions.register(region));
    }

    @Override
    public Optional<byte[]> getBytes(final ObjectKey key) {
        return inside(() -> {
            for (int tries = 0; tries < MOST_SIZES; tries++) {
                final long size = look(key).map(ValueInfo::size).orElse(0L);
                final byte[] bytes = new byte[arrayLength(key, size)];
                try {
                    final GetOutcome outcome = parts.reader().get(
                        ReadRequest.whole(named(key), List.of(MemorySegment.ofArray(bytes))));
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
            throw new StoreException(ErrorCode.BUFFER_OVERFLOW, "value " + key + " had another size " + MOST_SIZES
                + " times in a row when it was read than when it was asked for; read it into memory that is large"
                + " enough");
        });
    }

    @Override
    public boolean exists(final ObjectKey key) {
        return inside(() -> parts.master().apply(new ObjectCommand.Exists(named(key))));
    }

    @Override
    public Optional<ValueInfo> stat(final ObjectKey key) {
        return inside(() -> look(key));
    }

    @Override
    public RemoveOutcome remove(final ObjectKey key, final boolean force) {
        return inside(() -> {
            final ObjectKey name = named(key);
            return told(name, parts.master().apply(new ObjectCommand.Remove(name, force)));
        });
    }

    @Override
    public List<BatchResult<PutOutcome>> putBatch(final List<Item> items, final PutOptions options) {
        return inside(() -> parts.writer().putBatch(values(items, options, false)));
    }

    @Override
    public List<BatchResult<PutOutcome>> upsertBatch(final List<Item> items, final PutOptions options) {
        return inside(() -> {
            final List<BatchResult<PutOutcome>> results = parts.writer().putBatch(values(items, options, true));
            removedSome();
            return results;
        });
    }

    @Override
    public List<BatchResult<GetOutcome>> getBatch(final List<Item> items) {
        return inside(() -> parts.reader().getBatch(items.stream()
            .map(item -> ReadRequest.whole(named(item.key()), item.memory())).toList()));
    }

    @Override
    public List<BatchResult<GetOutcome>> getRangeBatch(final List<Part> wanted) {
        return inside(() -> parts.reader().getBatch(wanted.stream().map(part ->
            ReadRequest.part(named(part.key()), part.offset(), part.memory())).toList()));
    }

    @Override
    public List<BatchResult<PutOutcome>> putRegionBatch(final List<RegionItem> items, final PutOptions options) {
        return inside(() -> putRegionBatch(items, options, false));
    }

    @Override
    public List<BatchResult<PutOutcome>> upsertRegionBatch(final List<RegionItem> items, final PutOptions options) {
        return inside(() -> {
            final List<BatchResult<PutOutcome>> results = putRegionBatch(items, options, true);
            removedSome();
            return results;
        });
    }

    private List<BatchResult<PutOutcome>> putRegionBatch(final List<RegionItem> items, final PutOptions options,
        final boolean replace) {
        return regions.each(items, RegionItem::memory,
            (item, memory) -> PutRequest.of(named(item.key()), memory, options, replace), parts.writer()::putBatch);
    }

    @Override
    public List<BatchResult<GetOutcome>> getRegionBatch(final List<RegionItem> items) {
        return inside(() -> regions.each(items, RegionItem::memory,
            (item, memory) -> ReadRequest.whole(named(item.key()), memory), parts.reader()::getBatch));
    }

    @Override
    public List<BatchResult<GetOutcome>> getRegionRangeBatch(final List<RegionPart> wanted) {
        return inside(() -> regions.each(wanted, RegionPart::memory,
            (part, memory) -> ReadRequest.part(named(part.key()), part.offset(), memory), parts.reader()::getBatch));
    }

    @Override
    public List<BatchResult<Boolean>> existsBatch(final List<ObjectKey> keys) {
        return inside(() -> BatchCalls.apply(parts.master(), keys.stream()
            .map(key -> new ObjectCommand.Exists(named(key))).toList()));
    }

    @Override
    public List<BatchResult<RemoveOutcome>> removeBatch(final List<ObjectKey> keys) {
        return inside(() -> {
            final List<ObjectKey> names = keys.stream().map(this::named).toList();
            final List<BatchResult<RemoveReply>> replies = BatchCalls.apply(parts.master(), names.stream()
                .map(name -> new ObjectCommand.Remove(name, false)).toList());
            final List<BatchResult<RemoveOutcome>> results = new ArrayList<>(names.size());
            for (int i = 0; i < names.size(); i++) {
                try {
                    results.add(new BatchResult<>(told(names.get(i), replies.get(i).orThrow()), null));
                } catch (final RuntimeException e) {
                    results.add(BatchCalls.failed(e));
                }
            }
            return results;
        });
    }

    @Override
    public List<Found> find(final String tenant, final String pattern) {
        return inside(() -> {
            final List<Found> all = new ArrayList<>();
            long cursor = 0;
            while (cursor != FindReply.END) {
                final FindReply reply =
                    parts.master().apply(new ObjectCommand.Find(tenantNamed(tenant), pattern, false, cursor));
                reply.found().forEach(one -> all.add(new Found(one.key(), one.object().size())));
                cursor = next(cursor, reply.cursor());
            }
            return all;
        });
    }

    /** Where a scan goes on; a master that does not let it move on would be asked for ever. */
    private static long next(final long cursor, final long answered) {
        if (answered != FindReply.END && answered <= cursor) {
            throw new StoreException(ErrorCode.DESERIALIZE_FAIL, "the master's answer to a scan at " + cursor
                + " says to go on at " + answered + ", which is not behind it; is it another version?");
        }
        return answered;
    }

    @Override
    public long removeMatching(final String tenant, final String pattern, final boolean force) {
        return inside(() -> {
            long removed = 0;
            long cursor = 0;
            while (cursor != FindReply.END) {
                final ObjectCommand.RemoveMatchingReply reply = parts.master().apply(
                    new ObjectCommand.RemoveMatching(tenantNamed(tenant), pattern, force, cursor));
                removed += reply.removed();
                cursor = next(cursor, reply.cursor());
            }
            removedSome();
            return removed;
        });
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
            final Counters counters = parts.counters();
            final DiskTier disk = parts.disk();
            return new StoreStats(state.objects(),
                new StoreStats.TierStats(state.memoryCapacity(), state.memoryUsed(), counters.memoryHits().sum(),
                    counters.memoryReadBytes().sum(), counters.memoryWrittenBytes().sum(), state.memoryEvictions()),
                new StoreStats.TierStats(disk == null ? 0 : disk.capacityBytes(), disk == null ? 0 : disk.usedBytes(),
                    counters.diskHits().sum(), counters.diskReadBytes().sum(), counters.diskWrittenBytes().sum(),
                    state.diskEvictions()),
                counters.misses().sum(), state.offloads(), state.offloadFailures(), state.promotions(),
                new StoreStats.TierFaults(counters.ioErrors().sum(), counters.checksumMismatches().sum()),
                counters.putWaits().sum(), counters.lateReads().sum(),
                parts.file() == null ? StoreStats.GdsStats.NONE : parts.file().stats(state.gds().counts()),
                parts.shared() == null ? StoreStats.SharedDiskStats.NONE : parts.shared().stats(),
                lostTransfers());
        });
    }

    private long lostTransfers() {
        return parts.files().stream().mapToLong(TransferEngine::lostTransfers).sum();
    }

    /**
     * Counters of the master, for tests of its invariants.
     *
     * @return a snapshot.
     */
    public MasterStats masterStats() {
        return parts.master().apply(new AdminCommand.Statistics());
    }

    private RemoveOutcome told(final ObjectKey key, final RemoveReply reply) {
        if (reply.outcome() == RemoveOutcome.REMOVED) {
            removed(key, reply.version());
        }
        return reply.outcome();
    }

    private Optional<ValueInfo> look(final ObjectKey key) {
        final ReadReply reply = parts.master().apply(new ObjectCommand.Query(named(key)));
        if (!reply.found()) {
            return Optional.empty();
        }
        final List<ReplicaType> tiers = reply.replicas().stream().filter(Replica::isComplete).map(Replica::type)
            .sorted().distinct().toList();
        return Optional.of(new ValueInfo(reply.size(), tiers));
    }

    private List<PutRequest> values(final List<Item> items, final PutOptions options, final boolean replace) {
        return items.stream().map(item -> PutRequest.of(named(item.key()), item.memory(), options, replace))
            .toList();
    }

    /** A key that names no tenant is one of this client's tenant. */
    private ObjectKey named(final ObjectKey key) {
        final String tenant = tenantNamed(key.tenant());
        return tenant.equals(key.tenant()) ? key : ObjectKey.of(tenant, key.key());
    }

    private String tenantNamed(final String tenant) {
        return tenant.equals(ObjectKey.DEFAULT_TENANT) ? parts.tenant() : tenant;
    }

    private static int arrayLength(final ObjectKey key, final long size) {
        if (size > MAX_ARRAY_BYTES) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "value " + key + " has " + size
                + " bytes, more than an array can hold; read it into memory segments");
        }
        return (int) size;
    }

    private <T> T inside(final Supplier<T> call) {
        if (!parts.gate().tryEnter()) {
            throw Refusals.closed();
        }
        try {
            return call.get();
        } finally {
            parts.gate().leave();
        }
    }

    private <T> CompletableFuture<T> later(final Supplier<T> call) {
        try {
            return CompletableFuture.supplyAsync(call, async);
        } catch (final RejectedExecutionException e) {
            return CompletableFuture.failedFuture(Refusals.closed());
        }
    }

    static StoreException stillRunning(final String what, final long timeoutMs) {
        return new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, what + " were still running " + timeoutMs
            + " ms after the store was closed; its memory and files are left open, closing again tries again");
    }
}
