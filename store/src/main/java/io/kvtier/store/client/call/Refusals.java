package io.kvtier.store.client.call;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;

/** Why a call is not carried out, in the same words wherever that is noticed. */
public final class Refusals {
    private Refusals() {
    }

    /**
     * The store was closed before the call or while it waited.
     *
     * @return to be thrown.
     */
    public static StoreException closed() {
        return new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "the store is closed; open another one");
    }

    /**
     * The thread was interrupted while its put waited: no lack of room, since nobody knows whether there would have
     * been some.
     *
     * @param key of the value that was to be put.
     * @return to be thrown.
     */
    public static StoreException interrupted(final ObjectKey key) {
        return new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "the thread was interrupted while its put "
            + "of " + key + " waited for room; nothing was stored, and the thread stays interrupted");
    }
}
