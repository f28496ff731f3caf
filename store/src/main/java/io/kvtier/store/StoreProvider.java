package io.kvtier.store;

/** Opens stores; found by {@link Store#open(StoreConfig)} through the service loader. Not for users to implement. */
public interface StoreProvider {
    /**
     * Opens an embedded store.
     *
     * @param config validated settings.
     * @return the store.
     */
    Store open(StoreConfig config);
}
