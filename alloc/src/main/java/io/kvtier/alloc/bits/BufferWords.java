package io.kvtier.alloc.bits;

import org.agrona.concurrent.UnsafeBuffer;

/**
 * Words outside the heap, through Agrona's buffer over an address.
 *
 * <p>Agrona checks bounds (unless {@code agrona.disable.bounds.checks} is set) but not lifetime: the owner of the
 * memory is closed only after the last call has ended, which is why the allocators check for use after close
 * themselves. <b>Threading:</b> thread-safe.
 */
public final class BufferWords extends AtomicWords {
    /** The longest array: a buffer is addressed by an {@code int} number of bytes. */
    public static final int MAX_WORDS = Integer.MAX_VALUE >>> 3;

    private final UnsafeBuffer buffer;

    /**
     * Words at an address.
     *
     * @param address aligned to 8 bytes; the memory is zero and outlives this object's use.
     * @param words   how many, from 1 to {@link #MAX_WORDS}.
     */
    public BufferWords(final long address, final long words) {
        buffer = new UnsafeBuffer(address, Math.toIntExact(words << 3));
    }

    @Override
    public long get(final int index) {
        return buffer.getLongVolatile(index << 3);
    }

    @Override
    public boolean compareAndSet(final int index, final long expected, final long update) {
        return buffer.compareAndSetLong(index << 3, expected, update);
    }

    @Override
    public long getAndAdd(final int index, final long delta) {
        return buffer.getAndAddLong(index << 3, delta);
    }

    @Override
    public void setRelease(final int index, final long value) {
        buffer.putLongRelease(index << 3, value);
    }
}
