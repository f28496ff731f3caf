package io.kvtier.store.snapshot.files;

import java.io.IOException;

/** Another master of a later term writes snapshots to the same place. */
public final class SupersededException extends IOException {
    private static final long serialVersionUID = 1;

    SupersededException(final String message) {
        super(message);
    }
}
