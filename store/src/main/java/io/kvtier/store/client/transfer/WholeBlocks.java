package io.kvtier.store.client.transfer;

import io.kvtier.alloc.Units;
import io.kvtier.store.StoreConfig;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * A value's bytes as whole blocks, the last one filled up with zeros: a part of a block would go through the page
 * cache.
 *
 * <p>Native pieces that any thread may touch, of whole blocks but for the last one, are used where they are, but for
 * the end of the value; anything else is put together in staging memory first, since pieces of odd sizes would meet
 * within a block.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> closed when the bytes have been moved.
 */
public final class WholeBlocks implements AutoCloseable {
    private static final long BLOCK_BYTES = StoreConfig.UNIT_BYTES;

    private final long padded;
    private final List<MemorySegment> pieces;
    /** What is not used where it is; null when all is. */
    private final Staging.Piece staged;

    /** Takes what cannot be used where it is into staging memory. */
    public WholeBlocks(final Staging staging, final List<MemorySegment> source) {
        final long size = ScatterGather.byteSize(source);
        padded = Units.taken(size, BLOCK_BYTES);
        final long straight = isWhole(source) ? Units.down(size, BLOCK_BYTES) : 0;
        staged = straight == size ? null : staging.take(size - straight);
        try {
            pieces = staged == null ? source : pieces(source, straight, size);
        } catch (final RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    private static boolean isWhole(final List<MemorySegment> source) {
        for (int i = 0; i < source.size(); i++) {
            final boolean last = i == source.size() - 1;
            if (!ScatterGather.isShared(source.get(i)) || !last && source.get(i).byteSize() % BLOCK_BYTES != 0) {
                return false;
            }
        }
        return true;
    }

    private List<MemorySegment> pieces(final List<MemorySegment> source, final long straight, final long size) {
        final MemorySegment room = staged.slice().segment();
        final List<MemorySegment> parts = new ArrayList<>(source.size() + 1);
        if (straight == 0) {
            ScatterGather.gather(source, room, 0);
        } else {
            final MemorySegment last = source.getLast();
            final long tail = size - straight;
            parts.addAll(source.subList(0, source.size() - 1));
            if (last.byteSize() > tail) {
                parts.add(last.asSlice(0, last.byteSize() - tail));
            }
            MemorySegment.copy(last, last.byteSize() - tail, room, 0, tail);
        }
        room.asSlice(size - straight, padded - size).fill((byte) 0);
        parts.add(room.asSlice(0, padded - straight));
        return parts;
    }

    /** All of them, in order. */
    public List<MemorySegment> pieces() {
        return pieces;
    }

    /** Their bytes. */
    public long byteSize() {
        return padded;
    }

    @Override
    public void close() {
        if (staged != null) {
            staged.close();
        }
    }
}
