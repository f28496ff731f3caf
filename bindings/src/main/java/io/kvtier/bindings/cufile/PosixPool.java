package io.kvtier.bindings.cufile;

import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Counts which of compatibility mode's buffers the batches of this process hold. A submission that finds none left
 * waits inside the library, perhaps for ever and out of reach of any time limit: so no entry is handed over that has
 * not taken its buffers here first.
 *
 * <p>An entry takes one buffer of the smallest class that holds it, and one larger than the largest class as many of
 * those as it needs.
 *
 * <p><b>Threading:</b> thread-safe, lock-free. <b>Blocking:</b> never.
 */
final class PosixPool {
    private final long[] slabBytes;
    private final long[] counts;
    private final AtomicLongArray free;

    PosixPool(final List<PoolSlabs> classes) {
        slabBytes = classes.stream().mapToLong(PoolSlabs::slabBytes).toArray();
        counts = classes.stream().mapToLong(PoolSlabs::count).toArray();
        free = new AtomicLongArray(counts);
    }

    /** How many entries of one size fit at once. */
    long entries(final long entryBytes) {
        return counts.length == 0 ? Long.MAX_VALUE : counts[classOf(entryBytes)] / needed(entryBytes);
    }

    /** Takes the buffers of one entry; false changes nothing. */
    boolean tryTake(final long entryBytes) {
        if (counts.length == 0) {
            return true;
        }
        final int index = classOf(entryBytes);
        final long needed = needed(entryBytes);
        long now = free.get(index);
        while (now >= needed) {
            if (free.compareAndSet(index, now, now - needed)) {
                return true;
            }
            now = free.get(index);
        }
        return false;
    }

    void give(final long entryBytes) {
        if (counts.length != 0) {
            free.addAndGet(classOf(entryBytes), needed(entryBytes));
        }
    }

    /** Buffers held now, over all classes. */
    long taken() {
        long taken = 0;
        for (int i = 0; i < counts.length; i++) {
            taken += counts[i] - free.get(i);
        }
        return taken;
    }

    private int classOf(final long entryBytes) {
        for (int i = 0; i < slabBytes.length; i++) {
            if (entryBytes <= slabBytes[i]) {
                return i;
            }
        }
        return slabBytes.length - 1;
    }

    private long needed(final long entryBytes) {
        final long largest = slabBytes[slabBytes.length - 1];
        return entryBytes <= largest ? 1 : Math.ceilDiv(entryBytes, largest);
    }
}
