package io.kvtier.store.storage.shared;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.Units;
import io.kvtier.bindings.NativeTag;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Pieces of memory as whole blocks of a file. What makes up whole blocks within one piece is written from there; blocks
 * in which pieces meet, and the last one, are put together in memory of their own and filled up with zeros.
 *
 * <pre>
 *   pieces   [ a a a a a a a a | b b b b b b b b b b b | c c ]
 *   blocks   |       |       |       |       |       |       |
 *   runs     [ from a        ][ own  ][ from b      ][ own 0 ]
 * </pre>
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> closed when nothing uses the runs any more.
 */
final class BlockRuns implements AutoCloseable {
    private static final long BLOCK = FileSystemAdapter.BLOCK_BYTES;

    private final List<Run> runs = new ArrayList<>();
    private final HostRegion own;

    /**
     * Bytes to be written at one place.
     *
     * @param at     first byte, counted from where the first piece goes.
     * @param memory whole blocks.
     */
    record Run(long at, MemorySegment memory) {
    }

    BlockRuns(final List<MemorySegment> pieces) {
        final long shared = cut(pieces, null);
        if (shared == 0) {
            own = null;
            cut(pieces, MemorySegment.NULL);
            return;
        }
        own = HostRegion.allocate(NativeTag.BOUNCE, shared);
        cut(pieces, own.segment());
    }

    /** Finds the runs; without memory for blocks that are put together it only counts the bytes of these. */
    private long cut(final List<MemorySegment> pieces, final MemorySegment blocks) {
        long at = 0;
        long ownFrom = 0;
        long ownEnd = 0;
        for (int i = 0; i < pieces.size(); i++) {
            final MemorySegment piece = pieces.get(i);
            long done = 0;
            while (done < piece.byteSize()) {
                final long left = piece.byteSize() - done;
                final boolean whole = at % BLOCK == 0 && left >= BLOCK;
                final long count = whole ? left - left % BLOCK : Math.min(left, BLOCK - at % BLOCK);
                if (whole) {
                    add(blocks, at - (ownEnd - ownFrom), ownFrom, ownEnd);
                    ownFrom = ownEnd;
                    add(blocks, at, piece.asSlice(done, count));
                } else {
                    if (blocks != null) {
                        MemorySegment.copy(piece, done, blocks, ownEnd, count);
                    }
                    ownEnd += count;
                }
                at += count;
                done += count;
            }
        }
        final long end = Units.up(ownEnd, BLOCK);
        add(blocks, Units.up(at, BLOCK) - (end - ownFrom), ownFrom, end);
        return end;
    }

    private void add(final MemorySegment blocks, final long at, final long from, final long to) {
        if (blocks != null && to > from) {
            add(blocks, at, blocks.asSlice(from, to - from));
        }
    }

    private void add(final MemorySegment blocks, final long at, final MemorySegment memory) {
        if (blocks != null) {
            runs.add(new Run(at, memory));
        }
    }

    /** What is to be written, in the order of the file. */
    List<Run> runs() {
        return runs;
    }

    @Override
    public void close() {
        if (own != null) {
            own.close();
        }
    }
}
