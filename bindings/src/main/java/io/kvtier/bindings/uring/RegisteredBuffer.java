package io.kvtier.bindings.uring;

import java.lang.foreign.MemorySegment;

/**
 * Memory that the kernel holds pinned for one ring, so that an operation on it need not pin its pages.
 *
 * <p>The kernel takes at most 1 GiB at a time: a longer region takes one slot of the ring's table for each GiB begun,
 * and a transfer across such a border goes as an ordinary one.
 *
 * <p><b>Threading:</b> the owner of the ring. <b>Lifetime:</b> from {@link UringRing#register} to {@link #close()} or
 * the end of the ring; the memory must not be closed before. <b>Blocking:</b> never for long.
 */
public final class RegisteredBuffer extends RingResource implements AutoCloseable {
    private final MemorySegment memory;
    private final int firstSlot;

    RegisteredBuffer(final UringRing ring, final MemorySegment memory, final int firstSlot) {
        super(ring);
        this.memory = memory;
        this.firstSlot = firstSlot;
    }

    /**
     * The memory.
     *
     * @return as it was registered.
     */
    public MemorySegment memory() {
        return memory;
    }

    /**
     * Takes the memory off the ring. A second call does nothing.
     *
     * @throws IllegalStateException when operations on it have not ended; it then stays registered.
     */
    @Override
    public void close() {
        if (!isClosed()) {
            ring().unregister(this);
        }
    }

    static int slotsFor(final long bytes) {
        return Math.toIntExact(Math.ceilDiv(bytes, UringLayout.MAX_BUFFER_BYTES));
    }

    /** Whether a range lies within one slot. */
    boolean isWithinSlot(final long offset, final long length) {
        return length == 0 || offset / UringLayout.MAX_BUFFER_BYTES
            == (offset + length - 1) / UringLayout.MAX_BUFFER_BYTES;
    }

    int slotOf(final long offset) {
        return firstSlot + (int) (Math.min(offset, memory.byteSize() - 1) / UringLayout.MAX_BUFFER_BYTES);
    }

    int firstSlot() {
        return firstSlot;
    }
}
