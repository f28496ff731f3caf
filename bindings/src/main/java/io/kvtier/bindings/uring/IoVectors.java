package io.kvtier.bindings.uring;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Arrays of {@code struct iovec} for vectored operations: one belongs to an operation from being prepared to its end.
 *
 * <p>A kernel that has {@code IORING_FEAT_SUBMIT_STABLE} (Linux 5.5) copies the array when it takes the entry; what is
 * prepared and not taken yet, offered again after a failure, or sent to a worker by an older kernel still needs it. So
 * it is kept until the end, which costs nothing: arrays are lent from lists of equal size (8, 16, ... 1024 entries) and
 * come back to them. There are as many as were ever in use at once, and they are freed with the ring.
 *
 * <p><b>Threading:</b> the owner of the ring. <b>Allocation:</b> none once as many as are in use at a time exist.
 */
final class IoVectors {
    private static final int SMALLEST_BITS = 3;
    private static final int CLASSES = Integer.numberOfTrailingZeros(SegmentVector.MAX_SEGMENTS) - SMALLEST_BITS + 1;

    private final Arena arena = Arena.ofShared();
    private final List<ArrayDeque<IoVector>> free = new ArrayList<>();
    private final List<IoVector> all = new ArrayList<>();

    /** One array, and the memory that it names, which must not be collected while the kernel may use it. */
    static final class IoVector {
        private final ArrayDeque<IoVector> home;
        private final MemorySegment entries;
        private final MemorySegment[] held;
        private int count;

        private IoVector(final ArrayDeque<IoVector> home, final MemorySegment entries, final int capacity) {
            this.home = home;
            this.entries = entries;
            held = new MemorySegment[capacity];
        }

        long address() {
            return entries.address();
        }

        void add(final MemorySegment segment, final long address, final long length) {
            final long at = count * UringLayout.IOVEC_BYTES;
            entries.set(JAVA_LONG, at + UringLayout.IOVEC_BASE, address);
            entries.set(JAVA_LONG, at + UringLayout.IOVEC_LENGTH, length);
            held[count++] = segment;
        }

        /** Lets go of the memory; the array may be lent again. */
        void giveBack() {
            while (count > 0) {
                held[--count] = null;
            }
            home.push(this);
        }
    }

    IoVectors() {
        for (int i = 0; i < CLASSES; i++) {
            free.add(new ArrayDeque<>());
        }
    }

    /** Lends an empty array with room for that many, 1 to {@link SegmentVector#MAX_SEGMENTS}. */
    IoVector take(final int count) {
        final int bits = Math.max(SMALLEST_BITS, Integer.SIZE - Integer.numberOfLeadingZeros(count - 1));
        final ArrayDeque<IoVector> home = free.get(bits - SMALLEST_BITS);
        final IoVector lent = home.poll();
        return lent != null ? lent : grown(home, 1 << bits);
    }

    private IoVector grown(final ArrayDeque<IoVector> home, final int capacity) {
        final IoVector made = new IoVector(home, arena.allocate(capacity * UringLayout.IOVEC_BYTES, Long.BYTES),
            capacity);
        all.add(made);
        NativeResources.created(NativeTag.RING_VECTOR, made.entries.byteSize());
        return made;
    }

    /** Frees every array; nothing may be with the kernel. */
    void close() {
        all.forEach(one -> NativeResources.released(NativeTag.RING_VECTOR, one.entries.byteSize()));
        all.clear();
        arena.close();
    }
}
