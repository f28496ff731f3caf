package io.kvtier.store.client.transfer;

import io.kvtier.transport.Direction;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Staging memory that stands for pieces of a caller's memory which a transfer cannot use: heap arrays, and memory of
 * one thread.
 *
 * <p><b>Threading:</b> one thread, that of the caller. <b>Lifetime:</b> closed after the end of the transfer, and after
 * what was read has been {@linkplain #deliver delivered}.
 */
public final class Bounces implements AutoCloseable {
    private final Staging staging;
    private final Direction direction;
    /** Mostly there is none. */
    private List<Bounce> bounces = List.of();

    private record Bounce(MemorySegment caller, long count, Staging.Piece piece) {
    }

    /** None yet. */
    public Bounces(final Staging staging, final Direction direction) {
        this.staging = staging;
        this.direction = direction;
    }

    /** Whether all memory is used as it is. */
    public boolean isEmpty() {
        return bounces.isEmpty();
    }

    /**
     * Staging memory for the first bytes of a piece; of a write with these bytes, and for the same piece the same: it
     * may go to several replicas.
     */
    public Staging.Piece take(final MemorySegment piece, final long count) {
        if (bounces.isEmpty()) {
            bounces = new ArrayList<>();
        }
        for (final Bounce known : bounces) {
            if (direction == Direction.WRITE && known.caller() == piece && known.count() == count) {
                return known.piece();
            }
        }
        final Staging.Piece room = staging.take(count);
        bounces.add(new Bounce(piece, count, room));
        if (direction == Direction.WRITE) {
            MemorySegment.copy(piece, 0, room.slice().segment(), 0, count);
        }
        return room;
    }

    /**
     * The first bytes of a caller's memory as a transfer can use them, staging memory in place of what it cannot.
     *
     * @param memory in order.
     * @param length bytes, at most what the memory has.
     */
    public List<MemorySegment> usable(final List<MemorySegment> memory, final long length) {
        final List<MemorySegment> pieces = new ArrayList<>(memory.size());
        long left = length;
        for (int i = 0; i < memory.size() && left > 0; i++) {
            final MemorySegment piece = memory.get(i);
            final long count = Math.min(left, piece.byteSize());
            left -= count;
            if (count > 0 && ScatterGather.isShared(piece)) {
                pieces.add(piece.asSlice(0, count));
            } else if (count > 0) {
                pieces.add(take(piece, count).slice().segment().asSlice(0, count));
            }
        }
        return pieces;
    }

    /** Copies what was read to where it belongs. */
    public void deliver() {
        for (final Bounce bounce : bounces) {
            MemorySegment.copy(bounce.piece().slice().segment(), 0, bounce.caller(), 0, bounce.count());
        }
    }

    @Override
    public void close() {
        bounces.forEach(bounce -> bounce.piece().close());
    }
}
