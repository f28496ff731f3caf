package io.kvtier.store;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;

/**
 * A tiered store of immutable values under (tenant, key).
 *
 * <p>A value's bytes come from, and go to, any mix of memory segments, in order: native memory of any arena is copied
 * once, heap arrays ({@link MemorySegment#ofArray}) too. A get fills the caller's segments from their start with as
 * many bytes as the value has.
 *
 * <p><b>Threading:</b> thread-safe; made for many threads, virtual ones included. <b>Lifetime:</b> a segment that is
 * handed in must stay alive until the call returns or its future completes, and nobody may write to it meanwhile.
 * After {@link #close()} every call throws {@link StoreException} with UNAVAILABLE_IN_CURRENT_STATUS.
 * <b>Blocking:</b> a get that hits memory copies and never waits for another thread to be scheduled; one that hits a
 * disk waits for the disk; a put that finds memory full waits until enough of it has been offloaded, at most
 * {@link StoreConfig#putTimeoutMs()}.
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
     * Stores a value.
     *
     * @param key    its name.
     * @param source its bytes, in order; their sum is the value's size, and may be 0.
     * @return what became of it; only {@link PutOutcome#STORED} stored these bytes.
     * @throws StoreException INVALID_PARAMS when the value is larger than the memory tier can hold at all.
     */
    PutOutcome put(ObjectKey key, MemorySegment... source);

    /**
     * Reads a whole value.
     *
     * @param key    its name.
     * @param target memory for it, at least as large as the value.
     * @return the value's size and where it was read, or {@link GetOutcome#MISS}.
     * @throws StoreException BUFFER_OVERFLOW, naming both sizes, when the memory is smaller than the value.
     */
    GetOutcome get(ObjectKey key, MemorySegment... target);

    /**
     * Reads a part of a value: as many bytes as the memory has.
     *
     * @param key    its name.
     * @param offset first byte of the part.
     * @param target memory for it.
     * @return the whole value's size and where it was read, or {@link GetOutcome#MISS}.
     * @throws StoreException INVALID_PARAMS, naming the numbers, when the part does not lie inside the value.
     */
    GetOutcome getRange(ObjectKey key, long offset, MemorySegment... target);

    /**
     * Reads a whole value into a new array.
     *
     * @param key its name.
     * @return the bytes, or nothing for a miss.
     * @throws StoreException INVALID_PARAMS when the value is larger than an array can be.
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
     * Removes an object from every tier.
     *
     * @param key its name.
     * @return what became of it.
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
     * Stores several values; each succeeds or fails alone.
     *
     * @param items the values.
     * @return one result an item, in order.
     */
    List<BatchResult<PutOutcome>> putBatch(List<Item> items);

    /**
     * Reads several whole values; each succeeds or fails alone. Values on disk are read at the same time.
     *
     * @param items names and memory.
     * @return one result an item, in order.
     */
    List<BatchResult<GetOutcome>> getBatch(List<Item> items);

    /**
     * Asks for several objects, as {@link #exists(ObjectKey)}.
     *
     * @param keys the names.
     * @return one answer a key, in order.
     */
    List<Boolean> existsBatch(List<ObjectKey> keys);

    /**
     * Removes several objects; each succeeds or fails alone.
     *
     * @param keys the names.
     * @return one result a key, in order.
     */
    List<BatchResult<RemoveOutcome>> removeBatch(List<ObjectKey> keys);

    /**
     * As {@link #put(ObjectKey, MemorySegment...)}, on a virtual thread.
     *
     * @param key    its name.
     * @param source its bytes; memory of a confined arena is refused, since another thread reads it.
     * @return completes with the outcome, or with a {@link StoreException}.
     */
    CompletableFuture<PutOutcome> putAsync(ObjectKey key, MemorySegment... source);

    /**
     * As {@link #get(ObjectKey, MemorySegment...)}, on a virtual thread.
     *
     * @param key    its name.
     * @param target memory for it; memory of a confined arena is refused, since another thread writes it.
     * @return completes with the outcome, or with a {@link StoreException}.
     */
    CompletableFuture<GetOutcome> getAsync(ObjectKey key, MemorySegment... target);

    /**
     * As {@link #putBatch(List)}, on a virtual thread.
     *
     * @param items the values; memory of a confined arena is refused, since another thread reads it.
     * @return completes with one result an item, in order.
     */
    CompletableFuture<List<BatchResult<PutOutcome>>> putBatchAsync(List<Item> items);

    /**
     * As {@link #getBatch(List)}, on a virtual thread.
     *
     * @param items names and memory; memory of a confined arena is refused, since another thread writes it.
     * @return completes with one result an item, in order.
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
     * Counters and sizes now.
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
