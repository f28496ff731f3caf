package io.kvtier.bindings;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A reference count that cannot come back to life: it starts at one, the owner's, and once it has reached zero every
 * attempt to take it fails.
 *
 * <p>It guards a native handle against being released under a call that uses it: a user takes a reference around the
 * call, the owner's {@link #close()} gives the first one back, and whoever brings the count to zero releases the
 * handle. So {@code close} never waits, and a descriptor number is never reused by the kernel under a running call.
 *
 * <p><b>Threading:</b> thread-safe and lock-free; taking a reference linearizes at the successful compare-and-set.
 */
public final class RefCount implements AutoCloseable {
    // Bit 62 says that the owner has given its reference back, so that a second close does nothing.
    private static final long OWNER_GONE = 1L << 62;
    private static final long COUNT_MASK = OWNER_GONE - 1;

    private final AtomicLong state = new AtomicLong(1);
    private final Runnable release;

    /**
     * A count of one, held by the owner.
     *
     * @param release run exactly once, by the thread that brings the count to zero.
     */
    public RefCount(final Runnable release) {
        this.release = release;
    }

    /**
     * Takes a reference unless the owner has closed.
     *
     * @return false when the owner has closed; the caller then must not touch the handle.
     */
    public boolean tryAcquire() {
        long now = state.get();
        while ((now & OWNER_GONE) == 0) {
            if (state.compareAndSet(now, now + 1)) {
                return true;
            }
            now = state.get();
        }
        return false;
    }

    /**
     * Takes one more reference for work that a holder has begun: also after the owner has closed, until the last
     * reference is given back.
     *
     * @return false when the handle is released; the caller then must not touch it.
     */
    public boolean tryShare() {
        long now = state.get();
        while ((now & COUNT_MASK) != 0) {
            if (state.compareAndSet(now, now + 1)) {
                return true;
            }
            now = state.get();
        }
        return false;
    }

    /**
     * Gives one taken reference back; the last one, once the owner has closed, releases the handle.
     *
     * @throws IllegalStateException when no taken reference is left: the call then changes nothing.
     */
    public void release() {
        long now = state.get();
        while (true) {
            final long owners = (now & OWNER_GONE) == 0 ? 1 : 0;
            if ((now & COUNT_MASK) <= owners) {
                throw new IllegalStateException("a reference was given back more often than it was taken");
            }
            if (state.compareAndSet(now, now - 1)) {
                break;
            }
            now = state.get();
        }
        if (now - 1 == OWNER_GONE) {
            release.run();
        }
    }

    /**
     * Whether the owner has closed.
     *
     * @return true once {@link #close()} has been called.
     */
    public boolean isClosed() {
        return (state.get() & OWNER_GONE) != 0;
    }

    /**
     * Whether the handle was released: the owner has closed, and nobody holds a reference.
     *
     * @return true from the call on that released it.
     */
    public boolean isReleased() {
        return state.get() == OWNER_GONE;
    }

    /** Gives the owner's reference back. A second call does nothing. */
    @Override
    public void close() {
        long now = state.get();
        while ((now & OWNER_GONE) == 0) {
            if (state.compareAndSet(now, now - 1 | OWNER_GONE)) {
                if (now == 1) {
                    release.run();
                }
                return;
            }
            now = state.get();
        }
    }
}
