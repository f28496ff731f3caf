package io.kvtier.transport.file;

import io.kvtier.bindings.uring.RegisteredBuffer;
import io.kvtier.bindings.uring.UringRing;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The memory that one ring has pinned, found by address: a transfer may name the region, or any memory inside it.
 *
 * <p>Regions are few and live long, so they are gone through one by one. Memory that is taken off while operations of
 * it are in the kernel is not used for new ones, and taken off when those have ended.
 *
 * <p><b>Threading:</b> the thread of the ring. <b>Allocation:</b> none in {@link #find}.
 */
final class RingBuffers {
    private final List<Pinned> pinned = new ArrayList<>();
    private final List<Pinned> leaving = new ArrayList<>();

    /** Memory and how the ring names it; no name while the ring is one that could not pin it. */
    private static final class Pinned {
        private final MemorySegment memory;
        private RegisteredBuffer buffer;
        private CompletableFuture<Void> gone;

        Pinned(final MemorySegment memory) {
            this.memory = memory;
        }

        boolean covers(final long address, final long length) {
            final long start = address - memory.address();
            return start >= 0 && length <= memory.byteSize() - start;
        }
    }

    void add(final UringRing ring, final MemorySegment memory) {
        final Pinned one = new Pinned(memory);
        one.buffer = ring.register(memory);
        pinned.add(one);
    }

    /** Pinned memory that holds all of a range; null when none does. */
    RegisteredBuffer find(final long address, final long length) {
        for (int i = 0; i < pinned.size(); i++) {
            final Pinned one = pinned.get(i);
            // Borrowed memory may be closed, and others mapped at its address, while the kernel pins the old pages.
            if (one.buffer != null && one.covers(address, length) && one.memory.scope().isAlive()) {
                return one.buffer;
            }
        }
        return null;
    }

    /** Takes memory off; the future completes when the ring has let go of it. */
    void remove(final MemorySegment memory, final CompletableFuture<Void> gone) {
        for (int i = 0; i < pinned.size(); i++) {
            if (pinned.get(i).memory.equals(memory)) {
                final Pinned one = pinned.remove(i);
                one.gone = gone;
                leaving.add(one);
                break;
            }
        }
        if (leaving.isEmpty() || leaving.getLast().gone != gone) {
            gone.complete(null);
        }
        removeUnused();
    }

    /** Takes off what nothing uses any more; to be called when operations have ended. */
    void removeUnused() {
        for (int i = leaving.size() - 1; i >= 0; i--) {
            final Pinned one = leaving.get(i);
            try {
                if (one.buffer != null) {
                    one.buffer.close();
                }
            } catch (final IllegalStateException e) {
                // Operations on it are in the kernel.
                continue;
            } catch (final RuntimeException e) {
                leaving.remove(i);
                one.gone.completeExceptionally(e);
                continue;
            }
            leaving.remove(i);
            one.gone.complete(null);
        }
    }

    /** The ring is gone, and with it what it had pinned. */
    void forget() {
        pinned.forEach(one -> one.buffer = null);
        leaving.forEach(one -> one.gone.complete(null));
        leaving.clear();
    }

    /** Tells a new ring. What it cannot pin goes unpinned. */
    void registerAgain(final UringRing ring) {
        for (final Pinned one : pinned) {
            try {
                one.buffer = ring.register(one.memory);
            } catch (final RuntimeException e) {
                one.buffer = null;
            }
        }
    }
}
