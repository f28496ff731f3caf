package io.kvtier.transport.gds;

import io.kvtier.transport.Slice;

/**
 * How much of a slice has been moved that takes more than one call: one that is larger than the driver's buffers, or
 * whose call ended short. Most slices have none.
 *
 * <p><b>Threading:</b> that of the slice.
 */
final class Progress {
    private long done;

    private Progress() {
    }

    /** Bytes of a slice that were moved by earlier calls. */
    static long of(final Slice slice) {
        return slice.attachment() instanceof Progress progress ? progress.done : 0;
    }

    static void set(final Slice slice, final long done) {
        if (slice.attachment() instanceof Progress progress) {
            progress.done = done;
        } else {
            final Progress progress = new Progress();
            progress.done = done;
            slice.attach(progress);
        }
    }
}
