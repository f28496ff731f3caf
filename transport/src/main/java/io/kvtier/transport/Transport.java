package io.kvtier.transport;

import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.Availability;

/**
 * One way to move bytes between local memory and segments of some kinds.
 *
 * <p>A transport completes every slice it was given exactly once, successfully with the slice's whole length or with a
 * failure, on any thread, and touches neither memory nor segment of it afterwards. It checks a slice before it is
 * queued ({@link #check(Slice)}) and never after. It need not bound its queue: the engine bounds the slices and bytes
 * that are under way in all of its transports together.
 *
 * <p><b>Threading:</b> thread-safe. A transport's own threads come from {@link IoThreads}, so that the engine can tell
 * them. <b>Lifetime:</b> the engine it was given to closes it, after the last slice.
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
     * @param target a segment of a kind that it serves.
     * @return the handle.
     * @throws io.kvtier.bindings.NativeException when the segment cannot be opened; that is not remembered.
     */
    TransportSegment open(SegmentTarget target);

    /**
     * Says what is wrong with a slice, before anything of its request is queued.
     *
     * @param slice the slice.
     * @return null when it can be moved, else the reason in words.
     */
    String check(Slice slice);

    /**
     * Takes a slice, to be moved now or later on another thread. A transport whose threads have to be woken may leave
     * that to {@link #flush()}.
     *
     * @param slice the slice, already checked.
     */
    void submit(Slice slice);

    /** Says that no more slices of this submit follow. */
    default void flush() {
        // Nothing was held back.
    }

    /**
     * Moves a slice as {@link #submit}, on the calling thread where that would only hand it to another one to block.
     *
     * @param slice the slice, already checked; the caller is a platform thread and waits for it next.
     */
    default void run(final Slice slice) {
        submit(slice);
        flush();
    }

    /**
     * Asks to end a slice early, because its transfer was cancelled, has failed or is late. Never waits, and may do
     * nothing; the slice is still completed, and only once the device or the peer has let go of its memory.
     *
     * @param slice one that was given to this transport, and may have ended meanwhile.
     */
    default void cancel(final Slice slice) {
        // A system call cannot be called back.
    }

    /**
     * Makes what was written to a segment durable: now, or later on another thread.
     *
     * @param slice a slice of length 0 that names the segment; completed when durable.
     */
    void sync(Slice slice);

    /**
     * Prepares memory for many transfers: pins it, registers it with a device. Transfers work without it, only slower.
     *
     * @param region the memory; it stays open until {@link #detach}.
     * @return whether it was prepared; if not, why, and what to do about it.
     */
    default Availability attach(final MemoryRegion region) {
        return Availability.no("this transport has no use for registered memory", "nothing need be done");
    }

    /**
     * Undoes {@link #attach}; no slice of the region is under way.
     *
     * @param region memory for which attaching succeeded.
     */
    default void detach(final MemoryRegion region) {
        // Nothing was prepared.
    }

    /** Asks to end all slices early, as by {@link #cancel}, because the engine is closing and has waited enough. */
    default void abort() {
        // They end by themselves.
    }

    /** Gives threads and staging memory back. A second call does nothing. */
    @Override
    void close();
}
