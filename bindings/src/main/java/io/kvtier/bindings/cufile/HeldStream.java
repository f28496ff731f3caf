package io.kvtier.bindings.cufile;

import io.kvtier.bindings.cuda.CudaStream;

/**
 * A CUDA stream that is kept from being destroyed, as far as cuFile needs it; a simulation can stand in for it.
 *
 * <p><b>Threading:</b> thread-safe.
 */
interface HeldStream {
    /** The driver's handle. */
    long handle();

    /** Waits until everything given to the stream so far is done; works after the stream's owner has closed. */
    void await();

    /** Lets go; once. */
    void release();

    /**
     * Holds a stream.
     *
     * @throws IllegalStateException when it is closed.
     */
    static HeldStream of(final CudaStream stream) {
        final long handle = stream.acquireHandle();
        return new HeldStream() {
            @Override
            public long handle() {
                return handle;
            }

            @Override
            public void await() {
                stream.awaitHandle();
            }

            @Override
            public void release() {
                stream.releaseHandle();
            }
        };
    }
}
