package io.kvtier.alloc.bits;

import java.util.concurrent.atomic.AtomicLongArray;

/** Words on the heap, whose every access a model checker sees. */
public final class HeapWords extends AtomicWords {
    private final AtomicLongArray words;

    public HeapWords(final long length) {
        words = new AtomicLongArray(Math.toIntExact(length));
    }

    @Override
    public long get(final int index) {
        return words.get(index);
    }

    @Override
    public boolean compareAndSet(final int index, final long expected, final long update) {
        return words.compareAndSet(index, expected, update);
    }

    @Override
    public long getAndAdd(final int index, final long delta) {
        return words.getAndAdd(index, delta);
    }

    @Override
    public void setRelease(final int index, final long value) {
        words.setRelease(index, value);
    }
}
