package io.kvtier.store;

/**
 * Opens stores; found by {@link Store#open} and {@link Store#connect} through the service loader. Not for users to
 * implement.
 */
public interface StoreProvider {
    /**
     * Opens an embedded store.
     *
     * @param config validated settings.
     * @return the store.
     */
    Store open(StoreConfig config);

    /**
     * Joins a store that many processes share.
     *
     * @param config validated settings.
     * @return the store.
     */
    Store connect(ConnectConfig config);
}
