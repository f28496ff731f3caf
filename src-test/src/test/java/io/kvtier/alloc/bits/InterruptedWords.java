package io.kvtier.alloc.bits;

/** Words before one access of which something else is done: all that another thread may do just there. */
public final class InterruptedWords extends AtomicWords {
    private final HeapWords words;
    private int left;
    private Runnable other;

    public InterruptedWords(final long length) {
        words = new HeapWords(length);
    }

    /** Does something before an access, counted from now on and from 1. */
    public void before(final int access, final Runnable something) {
        left = access;
        other = something;
    }

    /** From now on nothing is done any more. */
    public void leaveAlone() {
        left = 0;
    }

    /** Whether there were so many accesses, and what was to be done has been done. */
    public boolean hasInterrupted() {
        return left == 0;
    }

    private void count() {
        if (left > 0 && --left == 0) {
            other.run();
        }
    }

    @Override
    public long get(final int index) {
        count();
        return words.get(index);
    }

    @Override
    public boolean compareAndSet(final int index, final long expected, final long update) {
        count();
        return words.compareAndSet(index, expected, update);
    }

    @Override
    public long getAndAdd(final int index, final long delta) {
        count();
        return words.getAndAdd(index, delta);
    }

    @Override
    public void setRelease(final int index, final long value) {
        count();
        words.setRelease(index, value);
    }
}
