package io.kvtier.transport.gds;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.cufile.CuFileBatch;
import io.kvtier.bindings.cufile.CuFileException;
import io.kvtier.bindings.cufile.CuFileOutcome;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Slice;
import java.util.ArrayDeque;

/**
 * A batch and the slices of its entries. Makes no object while it is used.
 *
 * <p><b>Threading:</b> belongs to the thread that made it, as its batch does.
 */
final class Flight implements CuFileBatch.Listener {
    /** What became of a slice that was to be added. */
    enum Added {
        /** It is in the batch. */
        TAKEN,
        /** It cannot be moved, and has ended. */
        ENDED,
        /** Another write changes a block of its edge; to be tried again. */
        EDGE_BUSY,
        /** The batch is full, or the driver has no buffer left now. */
        NO_ROOM
    }

    private final CuFileBatch batch;
    private final Registrations registrations;
    private final long maxEntryBytes;
    private final ArrayDeque<Slice> again;
    private final Slice[] slices;
    private final long[] starts;
    private final long[] lengths;
    private CuFileException broken;
    private boolean cancelled;

    /**
     * Wraps a batch.
     *
     * @param batch         empty; of the calling thread.
     * @param registrations where memory is looked up.
     * @param maxEntryBytes most bytes of an entry; a larger slice takes several, one after the other.
     * @param again         gets the slices of which there is more to be moved.
     */
    Flight(final CuFileBatch batch, final Registrations registrations, final long maxEntryBytes,
        final ArrayDeque<Slice> again) {
        this.batch = batch;
        this.registrations = registrations;
        this.maxEntryBytes = maxEntryBytes;
        this.again = again;
        this.slices = new Slice[batch.capacity()];
        this.starts = new long[batch.capacity()];
        this.lengths = new long[batch.capacity()];
    }

    CuFileBatch batch() {
        return batch;
    }

    /** Entries that are in the batch and were not submitted, or have not ended. */
    boolean isEmpty() {
        return batch.state() == CuFileBatch.State.FREE;
    }

    boolean isFull() {
        return slices[slices.length - 1] != null;
    }

    /** Adds the next part of a slice. */
    Added add(final Slice slice) {
        final long done = Progress.of(slice);
        final long length = Math.min(slice.length() - done, maxEntryBytes);
        final long offset = slice.offset() + done;
        final boolean write = slice.direction() == Direction.WRITE;
        final GdsFile file = (GdsFile) slice.handle();
        final GdsFile.Edges edges = write ? file.tryTakeEdges(offset, length) : GdsFile.Edges.TAKEN;
        if (edges == GdsFile.Edges.LOST) {
            Endings.edgeLost(slice);
            return Added.ENDED;
        }
        if (edges == GdsFile.Edges.BUSY) {
            return Added.EDGE_BUSY;
        }
        int slot = CuFileBatch.NO_ROOM;
        RuntimeException refusal = null;
        try {
            slot = addEntry(write, file, offset, slice.region(), slice.localOffset() + done, length);
        } catch (final RuntimeException e) {
            // File or memory is closed, or the memory is none.
            refusal = e;
        }
        if (slot == CuFileBatch.NO_ROOM && write) {
            file.giveEdges(offset, length);
        }
        if (refusal != null) {
            slice.failed(refusal);
            return Added.ENDED;
        }
        if (slot == CuFileBatch.NO_ROOM) {
            return Added.NO_ROOM;
        }
        slices[slot] = slice;
        starts[slot] = done;
        lengths[slot] = length;
        return Added.TAKEN;
    }

    private int addEntry(final boolean write, final GdsFile file, final long offset, final MemoryRegion memory,
        final long regionOffset, final long length) {
        final long address = Registrations.address(memory) + regionOffset;
        final Registrations.Entry registered = registrations.find(address, length);
        if (registered != null) {
            return batch.add(write, file.handle(), offset, registered.buffer(), address - registered.base(), length);
        }
        final DeviceRegion region = Registrations.unregistered(memory);
        if (region.memory() != null) {
            return batch.add(write, file.handle(), offset, region.memory(), regionOffset, length);
        }
        return batch.add(write, file.handle(), offset, region.pointer().slice(regionOffset, length));
    }

    /** Whether somebody still wants one of its slices; not so of an empty batch. */
    boolean isWanted() {
        for (final Slice slice : slices) {
            if (slice != null && slice.wanted()) {
                return true;
            }
        }
        return false;
    }

    /** Whether nobody wants one of its slices any more. */
    boolean hasUnwanted() {
        for (final Slice slice : slices) {
            if (slice != null && !slice.wanted()) {
                return true;
            }
        }
        return false;
    }

    /** Ends the slices of entries that were not submitted, and empties the batch. */
    void drop(final Throwable why) {
        batch.recycle();
        for (int slot = 0; slot < slices.length; slot++) {
            final Slice slice = slices[slot];
            if (slice != null) {
                let(slot);
                if (why == null) {
                    slice.canceled();
                } else {
                    slice.failed(why);
                }
            }
        }
    }

    /** Cancels what is in flight, ends all its slices, and destroys the batch; waits. */
    void cancel(final long waitNs) {
        cancelled = true;
        batch.cancel(waitNs, this);
    }

    /** As {@link #cancel}, because the driver can no longer say what has become of the batch. */
    void breakUp(final CuFileException why, final long waitNs) {
        broken = why;
        batch.cancel(waitNs, this);
    }

    @Override
    public void ended(final int slot, final CuFileOutcome outcome, final long result) {
        final Slice slice = slices[slot];
        final long before = starts[slot];
        final long length = lengths[slot];
        if (outcome == CuFileOutcome.LOST) {
            slices[slot] = null;
            if (slice.direction() == Direction.WRITE) {
                ((GdsFile) slice.handle()).loseEdges(slice.offset() + before, length);
            }
            Endings.lost(slice);
            return;
        }
        let(slot);
        switch (outcome) {
            case COMPLETE -> end(slice, before + length, before);
            case SHORT -> end(slice, before + result, before);
            case CANCELED -> {
                if (broken != null) {
                    slice.failed(broken);
                } else if (cancelled) {
                    Endings.cancelled(slice);
                } else {
                    Endings.failed(slice, outcome, result);
                }
            }
            default -> Endings.failed(slice, outcome, result);
        }
    }

    private void end(final Slice slice, final long done, final long before) {
        try {
            if (Endings.goesOn(slice, done, before)) {
                again.add(slice);
            }
        } catch (final RuntimeException e) {
            // The size of the file could not be read.
            slice.failed(e);
        }
    }

    private void let(final int slot) {
        final Slice slice = slices[slot];
        slices[slot] = null;
        if (slice.direction() == Direction.WRITE) {
            ((GdsFile) slice.handle()).giveEdges(slice.offset() + starts[slot], lengths[slot]);
        }
    }
}
