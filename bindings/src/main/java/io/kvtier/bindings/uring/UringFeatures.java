package io.kvtier.bindings.uring;

/**
 * What the probe found this kernel's io_uring to do.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param setupFlags  {@code IORING_SETUP_} bits with which rings are opened: the most that the kernel accepts of
 *                    going on after an entry that cannot be started (5.18), and of leaving completion work to the
 *                    thread that waits for it (one issuer, 6.1; cooperative, 5.19).
 * @param features    {@code IORING_FEAT_} bits as the kernel gave them.
 * @param operations  one bit for each of the first 64 operations that the kernel knows.
 */
public record UringFeatures(int setupFlags, int features, long operations) {
    /** What the probe reports where there is no io_uring. */
    static final UringFeatures NONE = new UringFeatures(0, 0, 0);

    /**
     * Whether completions that find their queue full are kept rather than dropped (Linux 5.5). Needed.
     *
     * @return whether they are.
     */
    public boolean keepsOverflow() {
        return has(UringLayout.FEATURE_NODROP);
    }

    /**
     * Whether a wait can have a time limit of its own (Linux 5.11). Needed.
     *
     * @return whether it can.
     */
    public boolean timedWait() {
        return has(UringLayout.FEATURE_EXT_ARG);
    }

    /**
     * Whether single entries of a table of registered buffers can be changed (Linux 5.13). Without it a ring with
     * buffer slots cannot be opened.
     *
     * @return whether they can.
     */
    public boolean bufferUpdates() {
        return has(UringLayout.FEATURE_RSRC_TAGS);
    }

    /**
     * Whether completion work waits for the thread that asks for it, instead of interrupting it (Linux 6.1).
     *
     * @return whether it does.
     */
    public boolean deferredCompletion() {
        return (setupFlags & UringLayout.SETUP_DEFER_TASKRUN) != 0;
    }

    /**
     * Whether the kernel knows an operation.
     *
     * @param operation its number in {@code enum io_uring_op}.
     * @return whether it does; false for numbers from 64 on.
     */
    public boolean supports(final int operation) {
        return operation >= 0 && operation < Long.SIZE && (operations & 1L << operation) != 0;
    }

    private boolean has(final int bit) {
        return (features & bit) != 0;
    }
}
