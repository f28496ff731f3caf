package io.kvtier.store.storage;

import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.alloc.extent.ExtentAllocator;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.storage.StorageBackend.Item;
import io.kvtier.store.storage.StorageBackend.Outcome;
import io.kvtier.store.storage.StorageBackend.Result;

/**
 * One value on its way to the disk: under way until it has an outcome, which never changes afterwards.
 *
 * <p><b>Threading:</b> one thread at a time, the one that stores its batch or the one that this hands a step to.
 */
final class PendingStore {
    private final Item item;
    private long offset = ExtentAllocator.NO_SPACE;
    private long checksum;
    private boolean lost;
    private Outcome outcome;
    private Throwable cause;

    PendingStore(final Item item) {
        this.item = item;
    }

    ObjectKey key() {
        return item.key();
    }

    long version() {
        return item.version();
    }

    long size() {
        return item.size();
    }

    long usedNanos() {
        return item.usedNanos();
    }

    RegionSlice memory() {
        return item.memory();
    }

    /** Its extent, which belongs to it until it is published or given back; NO_SPACE when it has none. */
    long offset() {
        return offset;
    }

    void reserved(final long extentOffset) {
        offset = extentOffset;
    }

    void takeChecksum() {
        try {
            checksum = BlockHash.xxh64(item.memory().segment().asSlice(0, item.size()));
            ((HostMemory) item.memory().region()).raiseFault();
        } catch (final RuntimeException | Error e) {
            // An error: its pages are gone, for the file behind them was cut. Its room must be given back.
            fail(Outcome.FAILED, e);
        }
    }

    /** Its bytes may still be written to its place, until the process ends. */
    void lose() {
        lost = true;
    }

    boolean isLost() {
        return lost;
    }

    StoredValue value() {
        return new StoredValue(item.key(), item.version(), offset, item.size(), checksum);
    }

    void fail(final Outcome why, final Throwable reason) {
        outcome = why;
        cause = reason;
    }

    void stored() {
        outcome = Outcome.STORED;
    }

    boolean isUnderWay() {
        return outcome == null;
    }

    Result result() {
        return new Result(outcome, checksum, cause);
    }
}
