package io.kvtier.bindings.uring;

/**
 * What a ring knows of before an operation names it, and how many operations do.
 *
 * <p><b>Threading:</b> the owner of the ring. <b>Lifetime:</b> until closed, which no operation may see, or the end of
 * the ring.
 */
abstract sealed class RingResource permits RegisteredBuffer, UringFile {
    private final UringRing ring;
    /** Operations prepared and not ended. */
    private int uses;
    private boolean closed;

    RingResource(final UringRing ring) {
        this.ring = ring;
    }

    final UringRing ring() {
        return ring;
    }

    /** Whether operations of a ring may name it. */
    final boolean isOpenFor(final UringRing other) {
        return ring == other && !closed;
    }

    final void use(final int change) {
        uses += change;
    }

    /** Refuses while operations use it. */
    final void checkUnused(final Object name) {
        if (uses > 0) {
            throw new IllegalStateException(uses + " operations on " + name + " have not ended");
        }
    }

    final boolean isClosed() {
        return closed;
    }

    final void markClosed() {
        closed = true;
    }
}
