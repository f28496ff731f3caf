package io.kvtier.transport.gds;

import io.kvtier.transport.Slice;

/**
 * The threads that serve one GPU.
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> only {@link #close()}.
 */
interface Lane {
    /** Takes a slice; {@link #flush()} follows. */
    void submit(Slice slice);

    /** Says that no more slices of a submit follow. */
    void flush();

    /** Says that there are slices that nobody wants any more. */
    void cancel();

    /** Says that no slice is wanted any more. */
    void abort();

    /** Ends the threads; no slice is under way. */
    void close();
}
