package io.kvtier.store;

import io.kvtier.alloc.MemoryRegion;
import io.kvtier.alloc.RegionSlice;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;

/**
 * A tiered store of immutable values under (tenant, key), in this process alone or shared with others.
 *
 * <p>A value's bytes come from, and go to, any mix of memory segments, in order: native memory of any arena is copied
 * once, heap arrays ({@link MemorySegment#ofArray}) too. A get fills the caller's segments from their start with as
 * many bytes as the value has.
 *
 * <p>They may lie in regions instead ({@code io.kvtier.alloc}), of which any are mixed: memory of a GPU has no segment.
 * It is copied over memory of the host, to the GPU only when the bytes are known to be right. What a GPU still computes
 * is not waited for: synchronise its stream before a put reads the memory, or a get fills it.
 *
 * <p><b>Threading:</b> thread-safe; made for many threads, virtual ones included. <b>Lifetime:</b> a segment that is
 * handed in must stay alive until the call returns or its future completes, and nobody may write to it meanwhile. A
 * region is kept open by the call: closed meanwhile, it is released when the call ends; borrowed memory is its owner's,
 * as a segment is.
 * After {@link #close()} every call throws {@link StoreException} with UNAVAILABLE_IN_CURRENT_STATUS.
 * <b>Blocking:</b> a get that hits memory of this process copies; in an embedded store it never waits for another
 * thread to be scheduled. One that hits a disk or another process waits for it; a put that finds memory full waits
 * until enough of it has been offloaded, at most {@link StoreConfig#putTimeoutMs()}.
 *
 * <p><b>Interruption:</b> a put that waits for room, or would have to, fails when its thread is interrupted, with
 * UNAVAILABLE_IN_CURRENT_STATUS: at once in an embedded store, within half a second in a shared one. Nothing is stored
 * then. No other wait is cut short, since bytes may be on their way to or from the caller's memory; only the attempts
 * to reach a master that is not there are given up (RPC_FAIL). The thread stays interrupted in any case.
 *
 * <p><b>Errors:</b> {@link StoreException}, with its {@link StoreException#code() code} for programs. Besides what is
 * said at each call, all of a shared store throw RPC_TIMEOUT and RPC_FAIL when the master does not answer (what was to
 * be changed may have been changed, or not), and DESERIALIZE_FAIL when it is of a version that is not understood. A
 * fault inside is INTERNAL_ERROR. Memory that cannot be used is refused in the JDK's own words:
 * {@link IllegalStateException} when its arena is closed, {@link WrongThreadException} when it is another thread's,
 * {@link IllegalArgumentException} when it is read-only and is to be filled, or is said to be a GPU's and is not. A
 * copy from or to a GPU that fails is TRANSFER_FAIL; what a get was to fill may then hold anything. A null is a
 * {@link NullPointerException}. A batch does not throw for one of its items: the item's {@link BatchResult} has the
 * error, as the cause of an INTERNAL_ERROR where it is not a {@code StoreException}.
 */
public interface Store extends AutoCloseable {
    /**
     * Opens an embedded store: master, memory and disk in this process.
     *
     * @param config what it may use.
     * @return the store; close it to give everything back.
     * @throws StoreException        when a directory or file cannot be used; the message says why and what to do.
     * @throws IllegalStateException when the JVM lacks a flag; the message prints the exact flag.
     */
    static Store open(final StoreConfig config) {
        return ServiceLoader.load(StoreProvider.class, Store.class.getClassLoader()).findFirst()
            .orElseThrow(() -> new IllegalStateException("no StoreProvider found: is the kvtier-store jar complete?"))
            .open(config);
    }

    /**
     * Joins a store that many processes share: a master elsewhere, memory and disks of all who lend some.
     *
     * @param config where the master is, and what this process lends.
     * @return the store; close it to take back what this process lent.
     * @throws StoreException           when the master does not answer or refuses, or a directory or port cannot be
     *                                  used; the message says why and what to do. A master that is not there is waited
     *                                  for as long as a call may take.
     * @throws IllegalArgumentException when what is lent could be reached from other hosts and there is no secret.
     * @throws IllegalStateException    when the JVM lacks a flag; the message prints the exact flag.
     */
    static Store connect(final ConnectConfig config) {
        return ServiceLoader.load(StoreProvider.class, Store.class.getClassLoader()).findFirst()
            .orElseThrow(() -> new IllegalStateException("no StoreProvider found: is the kvtier-store jar complete?"))
            .connect(config);
    }

    /**
     * Stores a value: one copy, anywhere.
     *
     * @param key    its name.
     * @param source its bytes, in order; their sum is the value's size, and may be 0.
     * @return what became of it; only {@link PutOutcome#STORED} stored these bytes.
     * @throws StoreException as for {@link #put(ObjectKey, PutOptions, MemorySegment...)}.
     */
    default PutOutcome put(final ObjectKey key, final MemorySegment... source) {
        return put(key, PutOptions.DEFAULT, source);
    }

    /**
     * Stores a value.
     *
     * @param key     its name.
     * @param options how it is stored.
     * @param source  its bytes, in order; their sum is the value's size, and may be 0.
     * @return what became of it; only {@link PutOutcome#STORED} stored these bytes.
     * @throws StoreException INVALID_PARAMS when the value is larger than the memory tier can hold at all or an option
     *                        makes no sense, TRANSFER_FAIL when a process that lends memory could not be reached,
     *                        INVALID_WRITE when the write took too long, TENANT_QUOTA_EXCEEDED and
     *                        TENANT_NOT_REGISTERED when the master holds tenants to quotas,
     *                        UNAVAILABLE_IN_CURRENT_STATUS when the thread was interrupted while the put waited for
     *                        room: nothing is stored. RPC_FAIL or RPC_TIMEOUT when the master does not answer: whether
     *                        the value is stored is then not known.
     */
    PutOutcome put(ObjectKey key, PutOptions options, MemorySegment... source);

    /**
     * Stores a value, in place of the one that the key has, if any. That one stays readable until the new one is
     * complete, except that one of the same size that nobody has read lately may be overwritten where it lies, and is
     * not readable meanwhile. A put of the key that is under way is overtaken: it will not be stored.
     *
     * @param key     its name.
     * @param options how it is stored.
     * @param source  its bytes, in order.
     * @return {@link PutOutcome#STORED}, or {@link PutOutcome#NO_SPACE}: then the earlier value is still there.
     * @throws StoreException as for a put; OBJECT_HAS_REPLICATION_TASK when the object is being copied.
     */
    PutOutcome upsert(ObjectKey key, PutOptions options, MemorySegment... source);

    /**
     * Reads a whole value.
     *
     * @param key    its name.
     * @param target memory for it, at least as large as the value.
     * @return the value's size and where it was read, or {@link GetOutcome#MISS}: also for a value of which no replica
     *         can be read.
     * @throws StoreException BUFFER_OVERFLOW, naming both sizes, when the memory is smaller than the value;
     *                        LEASE_EXPIRED when reading it took longer than its lease three times in a row.
     */
    GetOutcome get(ObjectKey key, MemorySegment... target);

    /**
     * Reads a part of a value: as many bytes as the memory has.
     *
     * @param key    its name.
     * @param offset first byte of the part.
     * @param target memory for it.
     * @return the whole value's size and where it was read, or {@link GetOutcome#MISS}.
     * @throws StoreException INVALID_PARAMS, naming the numbers, when the part does not lie inside the value;
     *                        LEASE_EXPIRED as for a get.
     */
    GetOutcome getRange(ObjectKey key, long offset, MemorySegment... target);

    /**
     * Stores a value that is in regions, as {@link #put(ObjectKey, PutOptions, MemorySegment...)}.
     *
     * @param key     its name.
     * @param options how it is stored.
     * @param source  its bytes, in order; memory of GPUs and of the host may be mixed.
     * @return what became of it; only {@link PutOutcome#STORED} stored these bytes.
     * @throws StoreException        as for that put; TRANSFER_FAIL also when they cannot be copied from a GPU.
     * @throws IllegalStateException when a region is closed.
     */
    PutOutcome put(ObjectKey key, PutOptions options, List<RegionSlice> source);

    /**
     * Stores a value that is in regions in place of the one that the key has, as
     * {@link #upsert(ObjectKey, PutOptions, MemorySegment...)}.
     *
     * @param key     its name.
     * @param options how it is stored.
     * @param source  its bytes, in order; memory of GPUs and of the host may be mixed.
     * @return {@link PutOutcome#STORED}, or {@link PutOutcome#NO_SPACE}: then the earlier value is still there.
     * @throws StoreException        as for that upsert; TRANSFER_FAIL also when they cannot be copied from a GPU.
     * @throws IllegalStateException when a region is closed.
     */
    PutOutcome upsert(ObjectKey key, PutOptions options, List<RegionSlice> source);

    /**
     * Reads a whole value into regions, as {@link #get(ObjectKey, MemorySegment...)}.
     *
     * @param key    its name.
     * @param target memory for it, at least as large as the value; memory of GPUs and of the host may be mixed.
     * @return the value's size and where it was read, or {@link GetOutcome#MISS}.
     * @throws StoreException        as for that get; TRANSFER_FAIL when the bytes cannot be copied to a GPU.
     * @throws IllegalStateException when a region is closed.
     */
    GetOutcome get(ObjectKey key, List<RegionSlice> target);

    /**
     * Reads a part of a value into regions: as many bytes as the memory has.
     *
     * @param key    its name.
     * @param offset first byte of the part.
     * @param target memory for it; memory of GPUs and of the host may be mixed.
     * @return the whole value's size and where it was read, or {@link GetOutcome#MISS}.
     * @throws StoreException        as for {@link #getRange(ObjectKey, long, MemorySegment...)}; TRANSFER_FAIL when the
     *                               bytes cannot be copied to a GPU.
     * @throws IllegalStateException when a region is closed.
     */
    GetOutcome getRange(ObjectKey key, long offset, List<RegionSlice> target);

    /**
     * Makes long-lived memory known to what moves bytes between memory and files here, io_uring and GPUDirect Storage
     * where the store has them, which pin it once. Calls work without it. Where nothing has to be done, or a device
     * does not take the memory, the registration only keeps the region open.
     *
     * @param region memory that many calls will use.
     * @return to be closed before the region: one that is closed first is released when this is. A store that is closed
     *         takes back what is still registered.
     * @throws StoreException        UNAVAILABLE_IN_CURRENT_STATUS when the store is closed.
     * @throws IllegalStateException when the region is closed.
     */
    RegisteredRegion register(MemoryRegion region);

    /**
     * Reads a whole value into a new array.
     *
     * @param key its name.
     * @return the bytes, or nothing for a miss.
     * @throws StoreException INVALID_PARAMS when the value is larger than an array can be; BUFFER_OVERFLOW when it was
     *                        replaced by one of another size each time that it was read; LEASE_EXPIRED as for a get.
     */
    Optional<byte[]> getBytes(ObjectKey key);

    /**
     * Whether a readable value exists. Counts as a use: it renews the read lease.
     *
     * @param key its name.
     * @return true when a get would find it now.
     */
    boolean exists(ObjectKey key);

    /**
     * Looks at an object without using it.
     *
     * @param key its name.
     * @return size and tiers, or nothing when there is no readable value.
     */
    Optional<ValueInfo> stat(ObjectKey key);

    /**
     * Removes an object from every tier, unless it was read within its lease.
     *
     * @param key its name.
     * @return what became of it.
     * @throws StoreException as for {@link #remove(ObjectKey, boolean)}.
     */
    default RemoveOutcome remove(final ObjectKey key) {
        return remove(key, false);
    }

    /**
     * Removes an object from every tier.
     *
     * @param key   its name.
     * @param force whether to remove it even within a read lease; reads in progress end well all the same.
     * @return what became of it.
     * @throws StoreException OBJECT_HAS_REPLICATION_TASK when it is being copied between segments: try again later;
     *                        FILE_WRITE_FAIL when an embedded store cannot write the removal to its disk.
     */
    RemoveOutcome remove(ObjectKey key, boolean force);

    /**
     * One value of a batch.
     *
     * @param key    its name.
     * @param memory its bytes, or memory for them.
     */
    record Item(ObjectKey key, List<MemorySegment> memory) {
        /**
         * One value in one piece of memory.
         *
         * @param key    its name.
         * @param memory its bytes, or memory for them.
         * @return the item.
         */
        public static Item of(final ObjectKey key, final MemorySegment memory) {
            return new Item(key, List.of(memory));
        }
    }

    /**
     * A part of a value of a batch: as many bytes as the memory has.
     *
     * @param key    its name.
     * @param offset first byte of the part.
     * @param memory memory for it.
     */
    record Part(ObjectKey key, long offset, List<MemorySegment> memory) {
    }

    /**
     * Stores several values, one copy each; each succeeds or fails alone.
     *
     * @param items the values.
     * @return one result an item, in order.
     */
    default List<BatchResult<PutOutcome>> putBatch(final List<Item> items) {
        return putBatch(items, PutOptions.DEFAULT);
    }

    /**
     * Stores several values; each succeeds or fails alone. Their bytes are moved at the same time.
     *
     * @param items   the values.
     * @param options how each of them is stored.
     * @return one result an item, in order.
     */
    List<BatchResult<PutOutcome>> putBatch(List<Item> items, PutOptions options);

    /**
     * Stores several values in place of those that the keys have, as
     * {@link #upsert(ObjectKey, PutOptions, MemorySegment...)}; each succeeds or fails alone.
     *
     * @param items   the values.
     * @param options how each of them is stored.
     * @return one result an item, in order.
     */
    List<BatchResult<PutOutcome>> upsertBatch(List<Item> items, PutOptions options);

    /**
     * Reads several whole values; each succeeds or fails alone. They are read at the same time, and in no order: memory
     * that two items share holds either.
     *
     * @param items names and memory.
     * @return one result an item, in order.
     */
    List<BatchResult<GetOutcome>> getBatch(List<Item> items);

    /**
     * Reads parts of several values, as {@link #getRange}; each succeeds or fails alone.
     *
     * @param parts names, offsets and memory.
     * @return one result a part, in order.
     */
    List<BatchResult<GetOutcome>> getRangeBatch(List<Part> parts);

    /**
     * Stores several values that are in regions, as {@link #putBatch(List, PutOptions)}.
     *
     * @param items   the values.
     * @param options how each of them is stored.
     * @return one result an item, in order.
     */
    List<BatchResult<PutOutcome>> putRegionBatch(List<RegionItem> items, PutOptions options);

    /**
     * Stores several values that are in regions in place of those that the keys have, as
     * {@link #upsertBatch(List, PutOptions)}.
     *
     * @param items   the values.
     * @param options how each of them is stored.
     * @return one result an item, in order.
     */
    List<BatchResult<PutOutcome>> upsertRegionBatch(List<RegionItem> items, PutOptions options);

    /**
     * Reads several whole values into regions, as {@link #getBatch(List)}.
     *
     * @param items names and memory.
     * @return one result an item, in order.
     */
    List<BatchResult<GetOutcome>> getRegionBatch(List<RegionItem> items);

    /**
     * Reads parts of several values into regions, as {@link #getRangeBatch(List)}.
     *
     * @param parts names, offsets and memory.
     * @return one result a part, in order.
     */
    List<BatchResult<GetOutcome>> getRegionRangeBatch(List<RegionPart> parts);

    /**
     * A value that was found.
     *
     * @param key  its name.
     * @param size its bytes.
     */
    record Found(ObjectKey key, long size) {
    }

    /**
     * Looks for readable values without using them. One that is there all the time is found once; one that comes or
     * goes meanwhile may be found or not.
     *
     * @param tenant  whose; empty for all tenants.
     * @param pattern a regular expression that the key contains a match of; empty for all keys.
     * @return what was found, in no order.
     * @throws StoreException INVALID_PARAMS when the pattern is none, takes too long, or refers to what a group has
     *                        matched.
     */
    List<Found> find(String tenant, String pattern);

    /**
     * Removes values by pattern. Those that are leased (unless forced), being written or copied stay.
     *
     * @param tenant  whose; empty for all tenants.
     * @param pattern a regular expression that the key contains a match of; empty for all keys.
     * @param force   whether leases do not keep them.
     * @return how many were removed.
     * @throws StoreException INVALID_PARAMS when the pattern is none, takes too long, or refers to what a group has
     *                        matched.
     */
    long removeMatching(String tenant, String pattern, boolean force);

    /**
     * Removes all values, but for those that are leased (unless forced), being written or copied.
     *
     * @param tenant whose; empty for all tenants.
     * @param force  whether leases do not keep them.
     * @return how many were removed.
     */
    default long removeAll(final String tenant, final boolean force) {
        return removeMatching(tenant, "", force);
    }

    /**
     * Asks for several objects, as {@link #exists(ObjectKey)}; each succeeds or fails alone.
     *
     * @param keys the names.
     * @return one result a key, in order.
     */
    List<BatchResult<Boolean>> existsBatch(List<ObjectKey> keys);

    /**
     * Removes several objects, unless they were read within their leases; each succeeds or fails alone.
     *
     * @param keys the names.
     * @return one result a key, in order.
     */
    List<BatchResult<RemoveOutcome>> removeBatch(List<ObjectKey> keys);

    /**
     * As {@link #put(ObjectKey, MemorySegment...)}, on a virtual thread. Nobody can interrupt it, and to cancel the
     * future does not end it: it goes on and uses the memory. This holds for all asynchronous calls.
     *
     * @param key    its name.
     * @param source its bytes; memory of a confined arena is refused, since another thread reads it.
     * @return completes with the outcome, or with a {@link StoreException}, which {@code join} and {@code get} wrap.
     * @throws StoreException INVALID_PARAMS at once when memory belongs to a confined arena.
     */
    CompletableFuture<PutOutcome> putAsync(ObjectKey key, MemorySegment... source);

    /**
     * As {@link #get(ObjectKey, MemorySegment...)}, on a virtual thread.
     *
     * @param key    its name.
     * @param target memory for it; memory of a confined arena is refused, since another thread writes it.
     * @return completes with the outcome, or with a {@link StoreException}.
     * @throws StoreException INVALID_PARAMS at once when memory belongs to a confined arena.
     */
    CompletableFuture<GetOutcome> getAsync(ObjectKey key, MemorySegment... target);

    /**
     * As {@link #putBatch(List)}, on a virtual thread.
     *
     * @param items the values; memory of a confined arena is refused, since another thread reads it.
     * @return completes with one result an item, in order.
     * @throws StoreException INVALID_PARAMS at once when memory belongs to a confined arena.
     */
    CompletableFuture<List<BatchResult<PutOutcome>>> putBatchAsync(List<Item> items);

    /**
     * As {@link #getBatch(List)}, on a virtual thread.
     *
     * @param items names and memory; memory of a confined arena is refused, since another thread writes it.
     * @return completes with one result an item, in order.
     * @throws StoreException INVALID_PARAMS at once when memory belongs to a confined arena.
     */
    CompletableFuture<List<BatchResult<GetOutcome>>> getBatchAsync(List<Item> items);

    /**
     * As {@link #remove(ObjectKey, boolean)}, on a virtual thread.
     *
     * @param key   its name.
     * @param force whether to remove it even within a read lease.
     * @return completes with the outcome, or with a {@link StoreException}.
     */
    CompletableFuture<RemoveOutcome> removeAsync(ObjectKey key, boolean force);

    /**
     * Counters and sizes now. Of a store that many processes share, objects, memory, evictions and copies between tiers
     * are those of all, hits, misses, bytes and the disk those of this process.
     *
     * @return a snapshot.
     */
    StoreStats stats();

    /**
     * Closes the store: refuses new calls, lets running ones end, makes the disk tier's index durable and gives all
     * memory, descriptors and threads back. What was only in memory is gone; what is on disk is found again by a
     * store opened on the same directory. A second call does nothing.
     *
     * @throws StoreException when running calls did not end in time: their memory is then left mapped, not pulled
     *                        from under them, and closing again tries again; or when the index could not be written.
     */
    @Override
    void close();
}
