package io.kvtier.store.storage;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.List;

/**
 * XXH64 with seed 0 over pieces of a caller's memory, as if they lay one behind the other: the same number as
 * {@link BlockHash}, through access that checks bounds and lifetime, since the memory is not the store's.
 *
 * <p>The algorithm is that of the xxHash specification: four lanes take 32 bytes at a time; what is left at the end is
 * mixed in by eight, four and one. Bytes that do not fill 32 wait for the next piece.
 *
 * <p><b>Threading:</b> one thread.
 */
public final class PieceHash {
    private static final ValueLayout.OfLong LONG =
        ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int STRIPE = 32;
    /** Bytes that a processor fetches at once. */
    private static final int LINE = 64;
    /** How far ahead of the arithmetic a line is asked for; 512 to 4,096 are equally good. */
    private static final int AHEAD = 512;
    private static final long PRIME_1 = 0x9E3779B185EBCA87L;
    private static final long PRIME_2 = 0xC2B2AE3D27D4EB4FL;
    private static final long PRIME_3 = 0x165667B19E3779F9L;
    private static final long PRIME_4 = 0x85EBCA77C2B2AE63L;
    private static final long PRIME_5 = 0x27D4EB2F165667C5L;

    private final byte[] waiting = new byte[STRIPE];
    private final MemorySegment waitingMemory = MemorySegment.ofArray(waiting);
    private int waitingBytes;
    private long total;
    /** Of lines that were asked for early. Nobody wants to know; without it they need not be loaded at all. */
    private long early;
    private long lane1 = PRIME_1 + PRIME_2;
    private long lane2 = PRIME_2;
    private long lane3;
    private long lane4 = -PRIME_1;

    private PieceHash() {
    }

    /**
     * The checksum of the first bytes of some pieces.
     *
     * @param pieces any memory that this thread may read.
     * @param length bytes, at most what the pieces have together.
     * @return XXH64 with seed 0.
     */
    public static long xxh64(final List<MemorySegment> pieces, final long length) {
        final PieceHash hash = new PieceHash();
        long left = length;
        for (int i = 0; i < pieces.size() && left > 0; i++) {
            final long count = Math.min(left, pieces.get(i).byteSize());
            hash.update(pieces.get(i), count);
            left -= count;
        }
        return hash.result();
    }

    private void update(final MemorySegment piece, final long count) {
        total += count;
        long at = 0;
        if (waitingBytes > 0) {
            at = Math.min(count, STRIPE - waitingBytes);
            MemorySegment.copy(piece, 0, waitingMemory, waitingBytes, at);
            waitingBytes += (int) at;
            if (waitingBytes < STRIPE) {
                return;
            }
            stripes(waitingMemory, 0, STRIPE);
            waitingBytes = 0;
        }
        final long whole = (count - at) / STRIPE * STRIPE;
        stripes(piece, at, at + whole);
        at += whole;
        waitingBytes = (int) (count - at);
        MemorySegment.copy(piece, at, waitingMemory, 0, waitingBytes);
    }

    /**
     * The bytes have often just come from a device, and are in no cache: each line is asked for while those before it
     * are mixed in, which hides some of what the processor's own prefetching does not. A tenth faster for values of
     * 1 MiB.
     */
    private void stripes(final MemorySegment memory, final long from, final long to) {
        long one = lane1;
        long two = lane2;
        long three = lane3;
        long four = lane4;
        long asked = 0;
        long at = from;
        for (final long last = to - AHEAD - LINE; at <= last; at += LINE) {
            asked ^= memory.get(LONG, at + AHEAD);
            one = round(one, memory.get(LONG, at));
            two = round(two, memory.get(LONG, at + 8));
            three = round(three, memory.get(LONG, at + 16));
            four = round(four, memory.get(LONG, at + 24));
            one = round(one, memory.get(LONG, at + 32));
            two = round(two, memory.get(LONG, at + 40));
            three = round(three, memory.get(LONG, at + 48));
            four = round(four, memory.get(LONG, at + 56));
        }
        early = asked;
        for (; at < to; at += STRIPE) {
            one = round(one, memory.get(LONG, at));
            two = round(two, memory.get(LONG, at + 8));
            three = round(three, memory.get(LONG, at + 16));
            four = round(four, memory.get(LONG, at + 24));
        }
        lane1 = one;
        lane2 = two;
        lane3 = three;
        lane4 = four;
    }

    private long result() {
        long hash;
        if (total >= STRIPE) {
            hash = Long.rotateLeft(lane1, 1) + Long.rotateLeft(lane2, 7) + Long.rotateLeft(lane3, 12)
                + Long.rotateLeft(lane4, 18);
            hash = merge(merge(merge(merge(hash, lane1), lane2), lane3), lane4);
        } else {
            hash = PRIME_5;
        }
        return avalanche(tail(hash + total));
    }

    private long tail(final long start) {
        long hash = start;
        int at = 0;
        for (; at + 8 <= waitingBytes; at += 8) {
            hash = Long.rotateLeft(hash ^ round(0, waitingMemory.get(LONG, at)), 27) * PRIME_1 + PRIME_4;
        }
        if (at + 4 <= waitingBytes) {
            hash = Long.rotateLeft(hash ^ (waitingMemory.get(INT, at) & 0xFFFFFFFFL) * PRIME_1, 23) * PRIME_2
                + PRIME_3;
            at += 4;
        }
        for (; at < waitingBytes; at++) {
            hash = Long.rotateLeft(hash ^ (waiting[at] & 0xFF) * PRIME_5, 11) * PRIME_1;
        }
        return hash;
    }

    private static long avalanche(final long start) {
        long hash = (start ^ start >>> 33) * PRIME_2;
        hash = (hash ^ hash >>> 29) * PRIME_3;
        return hash ^ hash >>> 32;
    }

    private static long round(final long lane, final long input) {
        return Long.rotateLeft(lane + input * PRIME_2, 31) * PRIME_1;
    }

    private static long merge(final long hash, final long lane) {
        return (hash ^ round(0, lane)) * PRIME_1 + PRIME_4;
    }
}
