package io.kvtier.kit;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** XXH64 with seed 0, written from its specification and slow: what the checksums of the store are held against. */
public final class ReferenceXxh64 {
    private static final long P1 = 0x9E3779B185EBCA87L;
    private static final long P2 = 0xC2B2AE3D27D4EB4FL;
    private static final long P3 = 0x165667B19E3779F9L;
    private static final long P4 = 0x85EBCA77C2B2AE63L;
    private static final long P5 = 0x27D4EB2F165667C5L;

    private ReferenceXxh64() {
    }

    public static long of(final byte[] bytes) {
        final ByteBuffer rest = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        long hash = bytes.length >= 32 ? stripes(rest) : P5;
        hash += bytes.length;
        while (rest.remaining() >= Long.BYTES) {
            hash = Long.rotateLeft(hash ^ round(0, rest.getLong()), 27) * P1 + P4;
        }
        if (rest.remaining() >= Integer.BYTES) {
            hash = Long.rotateLeft(hash ^ Integer.toUnsignedLong(rest.getInt()) * P1, 23) * P2 + P3;
        }
        while (rest.hasRemaining()) {
            hash = Long.rotateLeft(hash ^ Byte.toUnsignedLong(rest.get()) * P5, 11) * P1;
        }
        hash = (hash ^ hash >>> 33) * P2;
        hash = (hash ^ hash >>> 29) * P3;
        return hash ^ hash >>> 32;
    }

    private static long stripes(final ByteBuffer rest) {
        final long[] lanes = {P1 + P2, P2, 0, -P1};
        while (rest.remaining() >= 32) {
            for (int i = 0; i < lanes.length; i++) {
                lanes[i] = round(lanes[i], rest.getLong());
            }
        }
        long hash = Long.rotateLeft(lanes[0], 1) + Long.rotateLeft(lanes[1], 7) + Long.rotateLeft(lanes[2], 12)
            + Long.rotateLeft(lanes[3], 18);
        for (final long lane : lanes) {
            hash = (hash ^ round(0, lane)) * P1 + P4;
        }
        return hash;
    }

    private static long round(final long lane, final long input) {
        return Long.rotateLeft(lane + input * P2, 31) * P1;
    }
}
