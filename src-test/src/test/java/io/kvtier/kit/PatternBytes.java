package io.kvtier.kit;

import java.lang.foreign.MemorySegment;
import java.util.SplittableRandom;

/** Reproducible bytes that look random: the same seed gives the same bytes, two seeds differ nearly everywhere. */
public final class PatternBytes {
    private PatternBytes() {
    }

    public static byte[] of(final long seed, final int length) {
        final byte[] bytes = new byte[length];
        new SplittableRandom(seed).nextBytes(bytes);
        return bytes;
    }

    public static void fill(final MemorySegment target, final long seed) {
        final byte[] bytes = of(seed, Math.toIntExact(target.byteSize()));
        MemorySegment.copy(MemorySegment.ofArray(bytes), 0, target, 0, bytes.length);
    }

    public static byte[] copyOf(final MemorySegment source) {
        final byte[] bytes = new byte[Math.toIntExact(source.byteSize())];
        MemorySegment.copy(source, 0, MemorySegment.ofArray(bytes), 0, bytes.length);
        return bytes;
    }
}
