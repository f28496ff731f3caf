package io.kvtier.bindings.uring;

import java.lang.foreign.MemorySegment;

/**
 * The system calls that a ring makes: the boundary that a test replaces.
 *
 * <p>Every result below zero is {@code -errno} of that very call, so no state is left behind for a second one to read.
 * {@link #wake} is called by any thread, everything else by the owner of the ring, or by whoever closes it.
 */
interface UringKernel {
    /**
     * io_uring_setup(2).
     *
     * @param entries of the submission queue.
     * @param params  {@code struct io_uring_params}, changed by the call.
     * @return the ring's descriptor, or -errno.
     */
    int setup(int entries, MemorySegment params);

    /**
     * io_uring_enter(2).
     *
     * @param ring     the descriptor.
     * @param submit   entries to take.
     * @param complete completions to wait for.
     * @param flags    {@code IORING_ENTER_} bits.
     * @param argument {@code struct io_uring_getevents_arg}, or {@link MemorySegment#NULL}.
     * @return entries taken, or -errno.
     */
    int enter(int ring, int submit, int complete, int flags, MemorySegment argument);

    /**
     * io_uring_register(2).
     *
     * @param ring      the descriptor.
     * @param operation what to do.
     * @param argument  for it.
     * @param count     entries of the argument, or its size: as the operation wants it.
     * @return zero or a count, or -errno.
     */
    int register(int ring, int operation, MemorySegment argument, int count);

    /**
     * Maps memory that the kernel shares with this process through the ring.
     *
     * @param ring   the descriptor.
     * @param offset which memory.
     * @param length bytes.
     * @return the address, or -errno.
     */
    long map(int ring, long offset, long length);

    /**
     * Takes a mapping away.
     *
     * @param address what {@link #map} gave.
     * @param length  bytes.
     */
    void unmap(long address, long length);

    /**
     * Makes an eventfd(2) that counts from zero and blocks while it is zero.
     *
     * @return its descriptor, or -errno.
     */
    int eventDescriptor();

    /**
     * Adds one to an eventfd.
     *
     * @param descriptor the eventfd.
     * @return zero, or -errno.
     */
    int wake(int descriptor);

    /**
     * Makes a pipe(2), of which no child process inherits an end.
     *
     * @return the reading end's descriptor, with the writing end's in the upper half; or -errno.
     */
    long pipe();

    /**
     * Waits until nobody has the writing end of a pipe open.
     *
     * @param readingEnd the descriptor of the other end.
     * @param limitMs    most milliseconds to wait.
     * @return 1 when it is so, 0 when the time is over first; or -errno.
     */
    int awaitHangUp(int readingEnd, int limitMs);

    /**
     * Closes a descriptor that this interface gave.
     *
     * @param descriptor a ring, an eventfd or an end of a pipe.
     */
    void close(int descriptor);
}
