package io.kvtier.store.cli;

import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;

/** Opens the store that a command uses; a test puts a failing one in its place. */
interface StoreOpener {
    /**
     * Opens a store.
     *
     * @param config what it may use.
     * @return the store.
     */
    Store open(StoreConfig config);
}
