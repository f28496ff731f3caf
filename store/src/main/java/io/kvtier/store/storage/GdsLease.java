package io.kvtier.store.storage;

import io.kvtier.alloc.RegionSlice;
import io.kvtier.transport.Transfer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * A hold on a value in the file of a {@link GdsStorageManager}: its bytes stay where they are while one is open. An
 * extent may have many.
 *
 * <p>A value that is dropped meanwhile can still be read, and what was read is its bytes; but the master may have given
 * its name to another value. So who reads looks at {@link #isStillValid()} afterwards.
 *
 * <p><b>Threading:</b> one thread at a time, but for {@link #isStillValid()}. <b>Lifetime:</b> until closed; reads that
 * have not ended by then keep the hold until they have. <b>Blocking:</b> {@link #read} while the engine has no room for
 * another transfer, or as it says.
 */
public final class GdsLease implements AutoCloseable {
    private final ExtentMap map;
    private final ExtentFile file;
    private final ExtentEntry entry;
    private final List<Transfer> reads = new ArrayList<>(1);
    private boolean open = true;

    GdsLease(final ExtentMap map, final ExtentFile file, final ExtentEntry entry) {
        this.map = map;
        this.file = file;
        this.entry = entry;
    }

    /**
     * Where the value lies.
     *
     * @return the extent.
     */
    public Extent extent() {
        return entry.extent;
    }

    /**
     * What the master calls the replica.
     *
     * @return its id.
     */
    public long replicaId() {
        return map.replicaId(entry);
    }

    /**
     * Starts to read a part of the value.
     *
     * @param offset first byte, from the beginning of the value.
     * @param target where the bytes go, one slice behind the other; as many as all slices have, which must lie inside
     *               the extent. What lies behind the value in its last block is not defined.
     * @param alone  whether the caller has nothing else to do meanwhile: a platform thread may then read by itself.
     * @return the transfer, submitted. It is not to be filled anew before the lease is closed.
     * @throws IndexOutOfBoundsException when the part is not inside the extent.
     * @throws IllegalStateException     when the lease or the engine is closed.
     * @throws io.kvtier.transport.TransferException INVALID or BUSY, as by {@code TransferEngine.submit}, and INVALID
     *                                   when the manager is closed.
     */
    public Transfer read(final long offset, final List<RegionSlice> target, final boolean alone) {
        if (!open) {
            throw new IllegalStateException("the lease on " + entry.key + " is closed");
        }
        Objects.checkFromIndexSize(offset, ExtentFile.length(target), entry.extent.bytes());
        final Transfer transfer = file.read(entry.extent, offset, target, alone);
        reads.removeIf(Transfer::isSettled);
        reads.add(transfer);
        return transfer;
    }

    /**
     * Whether the value is still there: neither dropped since the lease was taken, nor its manager closed. To be asked
     * when the bytes have come.
     *
     * @return false once what was read may be another value's by name.
     */
    public boolean isStillValid() {
        return map.isReadable(entry);
    }

    /** Lets go. A second call does nothing. */
    @Override
    public void close() {
        if (!open) {
            return;
        }
        open = false;
        final List<Transfer> running = reads.stream().filter(read -> !read.isSettled()).toList();
        map.release(entry, running);
        running.forEach(read -> read.future().whenComplete((ended, problem) -> map.lookAgain()));
    }
}
