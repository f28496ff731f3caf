package io.kvtier.transport;

/**
 * One way to move bytes between memory and segments of some kinds.
 *
 * <p>A transport completes every slice it was given exactly once, successfully with the slice's whole length or with a
 * failure, on any thread, and touches neither memory nor segment of it afterwards. It checks a slice before it is
 * queued ({@link #check(Slice)}) and never after.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> the engine it was given to closes it, after the last slice.
 */
public interface Transport extends AutoCloseable {
    /**
     * What it can do here. The probe behind it ran when the transport was made.
     *
     * @return the capability.
     */
    Capability capability();

    /**
     * Opens what it needs for a segment.
     *
     * @param segment a segment of a kind that it serves.
     * @return the handle.
     * @throws io.kvtier.bindings.NativeException when the segment cannot be opened; that is not remembered.
     */
    TransportSegment open(Segment segment);

    /**
     * Says what is wrong with a slice, before anything of its request is queued.
     *
     * @param slice the slice.
     * @return null when it can be moved, else the reason in words.
     */
    String check(Slice slice);

    /**
     * Moves a slice: now, or later on another thread. Blocks while the transport's queue is full.
     *
     * @param slice the slice, already checked.
     */
    void submit(Slice slice);

    /**
     * Moves a slice as {@link #submit}, on the calling thread where that would only hand it to another one to block.
     *
     * @param slice the slice, already checked; the caller is a platform thread and waits for it next.
     */
    default void run(final Slice slice) {
        submit(slice);
    }

    /**
     * Makes what was written to a segment durable: now, or later on another thread.
     *
     * @param slice a slice of length 0 that names the segment; completed when durable.
     */
    void sync(Slice slice);

    /** Gives threads and staging memory back. A second call does nothing. */
    @Override
    void close();
}
