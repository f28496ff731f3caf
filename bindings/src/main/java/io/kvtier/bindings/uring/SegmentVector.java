package io.kvtier.bindings.uring;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;

/**
 * Pieces of memory, in order, that one operation fills or writes as if they lay side by side.
 *
 * <p>A ring copies what is in it when an operation is prepared: it may be cleared and filled again at once. Whoever
 * keeps one prepares vectored operations without allocating.
 *
 * <p><b>Threading:</b> none of its own; one thread at a time. <b>Lifetime:</b> it keeps memory reachable, and does not
 * keep it open. <b>Allocation:</b> none but in the constructor.
 */
public final class SegmentVector {
    /** Most segments that one operation takes: {@code IOV_MAX} of {@code limits.h}. */
    public static final int MAX_SEGMENTS = 1024;

    private final MemorySegment[] segments;
    private final long[] starts;
    private final long[] lengths;
    private int count;
    private long bytes;

    /**
     * Makes an empty one.
     *
     * @param capacity most segments, 1 to {@link #MAX_SEGMENTS}.
     */
    public SegmentVector(final int capacity) {
        if (capacity < 1 || capacity > MAX_SEGMENTS) {
            throw new IllegalArgumentException("one operation takes 1 to " + MAX_SEGMENTS
                + " segments (IOV_MAX), not " + capacity + ": use several operations");
        }
        segments = new MemorySegment[capacity];
        starts = new long[capacity];
        lengths = new long[capacity];
    }

    /**
     * Makes one of whole segments.
     *
     * @param pieces 1 to {@link #MAX_SEGMENTS} segments.
     * @return a vector that is full.
     */
    public static SegmentVector of(final MemorySegment... pieces) {
        final SegmentVector vector = new SegmentVector(pieces.length);
        for (final MemorySegment piece : pieces) {
            vector.add(piece);
        }
        return vector;
    }

    /**
     * Appends a whole segment.
     *
     * @param segment the memory.
     * @return this.
     * @throws IllegalStateException    when full.
     * @throws IllegalArgumentException when the sum would be more than one operation moves.
     */
    public SegmentVector add(final MemorySegment segment) {
        return add(segment, 0, segment.byteSize());
    }

    /**
     * Appends a part of a segment.
     *
     * @param segment the memory.
     * @param start   where in it, in bytes.
     * @param length  bytes.
     * @return this.
     * @throws IndexOutOfBoundsException when the part is not within the segment.
     * @throws IllegalStateException     when full.
     * @throws IllegalArgumentException  when the sum would be more than one operation moves.
     */
    public SegmentVector add(final MemorySegment segment, final long start, final long length) {
        Objects.checkFromIndexSize(start, length, segment.byteSize());
        if (count == segments.length) {
            throw new IllegalStateException("the vector is full with " + count + " segments; one operation takes at"
                + " most " + MAX_SEGMENTS + " (IOV_MAX): use another operation");
        }
        if (length > UringLayout.MAX_TRANSFER_BYTES - bytes) {
            throw new IllegalArgumentException("one operation moves at most " + UringLayout.MAX_TRANSFER_BYTES
                + " bytes; the vector has " + bytes + " and was given " + length + " more: split it");
        }
        segments[count] = segment;
        starts[count] = start;
        lengths[count++] = length;
        bytes += length;
        return this;
    }

    /** Forgets everything. */
    public void clear() {
        Arrays.fill(segments, 0, count, null);
        count = 0;
        bytes = 0;
    }

    /**
     * How many segments are in it.
     *
     * @return 0 to {@link #capacity}.
     */
    public int count() {
        return count;
    }

    /**
     * Most segments that can be in it.
     *
     * @return as made.
     */
    public int capacity() {
        return segments.length;
    }

    /**
     * The sum of the lengths.
     *
     * @return bytes.
     */
    public long byteSize() {
        return bytes;
    }

    MemorySegment segment(final int index) {
        return segments[index];
    }

    long address(final int index) {
        return segments[index].address() + starts[index];
    }

    long length(final int index) {
        return lengths[index];
    }
}
