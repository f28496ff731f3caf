package io.kvtier.store.snapshot.files;

import java.io.IOException;

/** A snapshot that is refused: not whole, of another cluster, or of a later version; the message says which and why. */
public final class SnapshotFormatException extends IOException {
    private static final long serialVersionUID = 1;

    private final boolean later;

    SnapshotFormatException(final String message) {
        this(message, false, null);
    }

    SnapshotFormatException(final String message, final boolean later, final Throwable cause) {
        super(message, cause);
        this.later = later;
    }

    /**
     * Whether it may be whole, but a later version wrote it.
     *
     * @return true when it is of a later version.
     */
    public boolean isLater() {
        return later;
    }
}
