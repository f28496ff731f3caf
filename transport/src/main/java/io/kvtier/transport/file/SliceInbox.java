package io.kvtier.transport.file;

import io.kvtier.transport.Slice;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Slices handed by many threads to one, linked through their attachments, so that handing over makes no object and
 * needs no bound: a slice is in one queue at a time, and the engine bounds how many there are.
 *
 * <p>A stack after R. K. Treiber (1986), of which the one taker always takes everything: nothing is ever popped singly,
 * so a slice that was taken and put in again meanwhile does no harm. Putting in linearizes at its compare-and-set,
 * which also publishes the link; taking at its exchange.
 *
 * <p><b>Threading:</b> {@link #add} and {@link #isEmpty} any thread, lock-free; {@link #drainTo} one thread.
 */
final class SliceInbox {
    private final AtomicReference<Slice> newest = new AtomicReference<>();

    void add(final Slice slice) {
        Slice before = newest.get();
        slice.attach(before);
        while (!newest.compareAndSet(before, slice)) {
            before = newest.get();
            slice.attach(before);
        }
    }

    boolean isEmpty() {
        return newest.get() == null;
    }

    /** Moves everything into a queue, the oldest first. */
    void drainTo(final SliceQueue queue) {
        if (isEmpty()) {
            return;
        }
        Slice next = newest.getAndSet(null);
        Slice oldest = null;
        while (next != null) {
            final Slice before = (Slice) next.attachment();
            next.attach(oldest);
            oldest = next;
            next = before;
        }
        while (oldest != null) {
            final Slice behind = (Slice) oldest.attachment();
            queue.add(oldest);
            oldest = behind;
        }
    }
}
