package io.kvtier.store.snapshot.files;

import java.io.IOException;

/**
 * A store was not reached, or does not let this process do what it wants: nothing follows from it for what is there.
 * Who looks for a snapshot must not go on with an older one, or with none, as he does when one is damaged.
 */
public class StoreUnavailableException extends IOException {
    private static final long serialVersionUID = 1;

    /**
     * Makes it.
     *
     * @param message where, why, and what to do.
     * @param cause   what was thrown there; null for nothing.
     */
    public StoreUnavailableException(final String message, final Throwable cause) {
        super(message, cause);
    }
}
