package io.kvtier.bindings.uring;

/** Takes the ends of operations, one call each; called by {@link UringRing#reap} on the ring's own thread. */
@FunctionalInterface
public interface CompletionHandler {
    /**
     * An operation has ended; its memory is the caller's again.
     *
     * <p>The handler may prepare and submit further operations. It must not reap or close the ring. When it throws,
     * this end counts as delivered and the others are delivered by the next reap.
     *
     * @param userData what the operation was prepared with.
     * @param result   bytes moved, which may be fewer than asked for; 0 for an operation that moves none; or the
     *                 negated error number, for example {@code -EIO}. An operation that the kernel never took ends
     *                 with the error of the submission.
     */
    void completed(long userData, int result);
}
