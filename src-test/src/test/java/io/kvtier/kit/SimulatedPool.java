package io.kvtier.kit;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;

/** Compatibility mode's buffers as the library has them: three classes, defaults, and a reading that goes wrong. */
final class SimulatedPool {
    private static final int CLASSES = 3;
    private static final long[] DEFAULT_COUNTS = {128, 64, 64};

    private final long[] slabKb = {4, 1024, 16384};
    private final long[] count = DEFAULT_COUNTS.clone();
    private final long[] taken = new long[CLASSES];
    private boolean forgotten;

    /** As seen: once the properties were asked for, the pool reads as the defaults, whatever is in force. */
    void forget() {
        forgotten = true;
    }

    /** False when arrays of that length are refused. */
    boolean read(final MemorySegment sizesKb, final MemorySegment counts, final int length) {
        for (int i = 0; i < CLASSES; i++) {
            sizesKb.setAtIndex(JAVA_LONG, i, slabKb[i]);
            counts.setAtIndex(JAVA_LONG, i, forgotten ? DEFAULT_COUNTS[i] : count[i]);
        }
        return length == CLASSES;
    }

    boolean size(final MemorySegment sizesKb, final MemorySegment counts, final int length) {
        if (length != CLASSES) {
            return false;
        }
        for (int i = 0; i < length; i++) {
            slabKb[i] = sizesKb.getAtIndex(JAVA_LONG, i);
            count[i] = counts.getAtIndex(JAVA_LONG, i);
        }
        forgotten = false;
        return true;
    }

    boolean take(final long entryBytes) {
        final int index = classOf(entryBytes);
        if (taken[index] == count[index]) {
            return false;
        }
        taken[index]++;
        return true;
    }

    void give(final long entryBytes) {
        taken[classOf(entryBytes)]--;
    }

    private int classOf(final long entryBytes) {
        for (int i = 0; i < CLASSES; i++) {
            if (entryBytes <= slabKb[i] << 10) {
                return i;
            }
        }
        return CLASSES - 1;
    }
}
