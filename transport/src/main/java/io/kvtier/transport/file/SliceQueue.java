package io.kvtier.transport.file;

import io.kvtier.transport.Slice;

/**
 * Slices in order of arrival, linked through their attachments, so that queueing makes no object.
 *
 * <p><b>Threading:</b> one thread at a time.
 */
final class SliceQueue {
    private Slice first;
    private Slice last;

    boolean isEmpty() {
        return first == null;
    }

    void add(final Slice slice) {
        slice.attach(null);
        if (last == null) {
            first = slice;
        } else {
            last.attach(slice);
        }
        last = slice;
    }

    /** Takes the oldest; null when there is none. */
    Slice poll() {
        final Slice oldest = first;
        if (oldest != null) {
            first = (Slice) oldest.attachment();
            if (first == null) {
                last = null;
            }
            oldest.attach(null);
        }
        return oldest;
    }
}
