package io.kvtier.alloc.bits;

/**
 * A fixed array of 64-bit words, zero at first, that threads change atomically.
 *
 * <p>An abstract class with one production implementation rather than an interface, so that the compiler sees that a
 * call has one target and inlines it. The other implementation lives in the tests: a model checker can follow an
 * {@code AtomicLongArray}, but not memory outside the heap.
 *
 * <p><b>Threading:</b> thread-safe; every method is wait-free on hardware with an atomic add, and lock-free elsewhere.
 * <b>Errors:</b> an index outside the array is a fault of the caller; an implementation may check it.
 */
public abstract class AtomicWords {
    /** For the implementations. */
    protected AtomicWords() {
    }

    /**
     * Reads a word with the ordering of a volatile read.
     *
     * @param index which word, from 0.
     * @return its value.
     */
    public abstract long get(int index);

    /**
     * Replaces a word if it holds an expected value, with the ordering of a volatile read and write.
     *
     * @param index    which word.
     * @param expected the value it must hold.
     * @param update   the value it then gets.
     * @return whether it was replaced; never fails spuriously.
     */
    public abstract boolean compareAndSet(int index, long expected, long update);

    /**
     * Adds to a word, with the ordering of a volatile read and write.
     *
     * @param index which word.
     * @param delta what to add.
     * @return the value before.
     */
    public abstract long getAndAdd(int index, long delta);

    /**
     * Writes a word that no other thread may be writing. Everything before it in program order is visible to whoever
     * reads the value; a later read of this thread may be performed before the write is.
     *
     * @param index which word.
     * @param value the new value.
     */
    public abstract void setRelease(int index, long value);
}
