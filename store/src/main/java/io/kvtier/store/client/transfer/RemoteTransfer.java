package io.kvtier.store.client.transfer;

import io.kvtier.alloc.BorrowedRegion;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferOptions;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Bytes between a caller's memory and segments of other processes. Native memory that any thread may touch is used as
 * it is; a heap array, or memory of one thread, goes through staging memory. Where the transfer is lost (see
 * {@link Transfer#isSettled}), staging memory is nobody else's until the process ends, and a read throws: another
 * replica would be read into memory of the caller that a device may still write to.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> filled, started and finished; given up by {@link #finish} alone.
 */
public final class RemoteTransfer implements Move {
    private final TransferEngine engine;
    private final RemoteSegments segments;
    private final Bounces bounces;
    private final Direction direction;
    private final Transfer transfer;
    private final List<RemoteSegments.Opened> used = new ArrayList<>(1);
    private String problem;
    private boolean submitted;
    private boolean settled = true;

    /** Nothing to move yet. */
    public RemoteTransfer(final TransferEngine engine, final RemoteSegments segments, final Staging staging,
        final Direction direction) {
        this.engine = engine;
        this.segments = segments;
        this.bounces = new Bounces(staging, direction);
        this.direction = direction;
        this.transfer = engine.newTransfer();
    }

    /** Refuses memory of a caller that a copy would refuse, in the same words as the JDK. */
    public static void check(final List<MemorySegment> pieces, final Direction direction) {
        for (final MemorySegment piece : pieces) {
            if (!piece.scope().isAlive()) {
                throw new IllegalStateException("Already closed");
            }
            if (!piece.isAccessibleBy(Thread.currentThread())) {
                throw new WrongThreadException("the memory belongs to another thread");
            }
            if (direction == Direction.READ && piece.isReadOnly()) {
                throw new IllegalArgumentException("Attempt to write a read-only segment");
            }
        }
    }

    /**
     * Adds a run of bytes of the caller's pieces at a place in a segment.
     *
     * @param opened entered by the caller; left at the end.
     * @param offset first byte in the segment.
     * @param length bytes.
     * @param pieces the caller's memory, from its start; already checked.
     */
    public void add(final RemoteSegments.Opened opened, final long offset, final long length,
        final List<MemorySegment> pieces) {
        used.add(opened);
        if (opened.segment() == null) {
            problem = opened.problem();
            return;
        }
        // Not up to an end: behind a wrong offset it may lie beyond all numbers. The engine refuses such an offset.
        long at = offset;
        long left = length;
        for (int i = 0; i < pieces.size() && left > 0 && problem == null; i++) {
            final MemorySegment piece = pieces.get(i);
            final long count = Math.min(piece.byteSize(), left);
            if (count > 0) {
                add(opened, at, count, piece);
            }
            at += count;
            left -= count;
        }
    }

    private void add(final RemoteSegments.Opened opened, final long at, final long count, final MemorySegment piece) {
        try {
            if (ScatterGather.isShared(piece)) {
                put(opened, at, count, new BorrowedRegion(piece), 0);
            } else {
                final Staging.Piece room = bounces.take(piece, count);
                put(opened, at, count, room.slice().region(), room.slice().offset());
            }
        } catch (final RuntimeException e) {
            // No memory left for staging, a segment that was closed: whatever it is, what was added is given back.
            problem = String.valueOf(e.getMessage());
        }
    }

    private void put(final RemoteSegments.Opened opened, final long at, final long count,
        final MemoryRegion region, final long regionOffset) {
        if (direction == Direction.READ) {
            transfer.read(region, regionOffset, count, opened.segment(), at);
        } else {
            transfer.write(region, regionOffset, count, opened.segment(), at);
        }
    }

    /**
     * Begins to move; whatever is wrong is what {@link #finish} says.
     *
     * @param alone whether the caller finishes this before it does anything else: it may move the bytes itself then.
     */
    public void start(final long timeoutMs, final boolean alone) {
        if (problem != null) {
            return;
        }
        try {
            final TransferOptions options = TransferOptions.within(timeoutMs);
            if (alone) {
                engine.submitAndWaitNext(transfer, options);
            } else {
                engine.submit(transfer, options);
            }
            submitted = true;
        } catch (final RuntimeException | Error e) {
            // Whatever it is (no thread left for a deadline, say), finishing gives back what was taken.
            problem = String.valueOf(e.getMessage());
        }
    }

    @Override
    public String finish() {
        try {
            if (submitted) {
                transfer.await();
            }
            if (problem == null && direction == Direction.READ) {
                bounces.deliver();
            }
        } catch (final TransferException e) {
            problem = e.getMessage();
            // Which of its parts were sent, and what became of each, is not told.
            settled = direction == Direction.READ && !isLost();
            used.forEach(segments::failed);
            if (direction == Direction.READ && isLost()) {
                throw new StoreException(ErrorCode.TRANSFER_FAIL, "a value could not be read: " + problem, e);
            }
        } finally {
            if (!isLost()) {
                bounces.close();
            }
            used.forEach(RemoteSegments.Opened::leave);
        }
        return problem;
    }

    /** Whether something may still use its memory, though it has ended. */
    public boolean isLost() {
        return submitted && !transfer.isSettled();
    }

    @Override
    public boolean isSettled() {
        return settled;
    }
}
