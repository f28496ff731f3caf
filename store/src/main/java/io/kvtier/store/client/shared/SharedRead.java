package io.kvtier.store.client.shared;

import io.kvtier.bindings.NativeException;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.request.ReadRequest;
import io.kvtier.store.client.transfer.Bounces;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.RemoteTransfer;
import io.kvtier.store.client.transfer.ScatterGather;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.storage.BlockHash;
import io.kvtier.store.storage.shared.DistributedDiskReader;
import io.kvtier.transport.Direction;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.OptionalLong;

/**
 * A value, or a part of one, on its way from the shared disk into a caller's memory; what the file system cannot fill
 * goes through staging memory. Of a value that has a checksum the whole is read, also for a part of it: the checksum is
 * over the whole, and no lease of a master says what a writer that was given up does to a page.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> given up by {@link #finish} alone, or by a start that throws.
 */
final class SharedRead implements Move {
    private final DistributedDiskReader reader;
    private final Staging staging;
    private final Bounces bounces;
    private final ReplicaDescriptor.DistributedDisk place;
    private final ReadRequest request;
    private final long length;
    /** All of the value, where only a part is wanted; null otherwise. */
    private Staging.Piece whole;
    private DistributedDiskReader.Read read;
    private OptionalLong checksum = OptionalLong.empty();

    SharedRead(final DistributedDiskReader reader, final Staging staging,
        final ReplicaDescriptor.DistributedDisk place, final ReadRequest request, final long length) {
        this.reader = reader;
        this.staging = staging;
        this.bounces = new Bounces(staging, Direction.READ);
        this.place = place;
        this.request = request;
        this.length = length;
    }

    /**
     * Starts to read.
     *
     * @param entire    whether the whole value is read whatever part of it is wanted.
     * @param timeoutMs milliseconds after which what has not begun is given up.
     * @param alone     whether the caller finishes this read before it starts another.
     */
    Move start(final boolean entire, final long timeoutMs, final boolean alone) {
        boolean started = false;
        try {
            final List<MemorySegment> target = request.target(length);
            RemoteTransfer.check(target, Direction.READ);
            if (entire && length < place.objectSize()) {
                whole = staging.take(place.objectSize());
                read = reader.start(place, 0, List.of(whole.slice().segment().asSlice(0, place.objectSize())),
                    timeoutMs, alone);
            } else {
                read = reader.start(place, request.offset(), bounces.usable(target, length), timeoutMs, alone);
            }
            started = true;
            return this;
        } catch (final StoreException | NativeException e) {
            // Also that there is no memory for staging: another replica may do.
            return Move.failed(String.valueOf(e.getMessage()));
        } finally {
            if (!started) {
                end();
            }
        }
    }

    @Override
    public String finish() {
        try {
            read.await();
            if (whole != null) {
                final MemorySegment value = whole.slice().segment().asSlice(0, place.objectSize());
                checksum = OptionalLong.of(BlockHash.xxh64(value));
                ScatterGather.scatter(value, request.offset(), length, request.target(length));
            }
            bounces.deliver();
            return null;
        } catch (final StoreException e) {
            return String.valueOf(e.getMessage());
        } finally {
            end();
        }
    }

    @Override
    public OptionalLong checksumOfAll() {
        return checksum;
    }

    @Override
    public boolean isElsewhereNow() {
        return read.wrong();
    }

    private void end() {
        bounces.close();
        if (whole != null) {
            whole.close();
        }
    }
}
