package io.kvtier.store;

/**
 * Opens stores; found by {@link Store#open} and {@link Store#connect} through the service loader. Not for users to
 * implement.
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> until files are open and, where there is one, the master has
 * answered.
 */
public interface StoreProvider {
    /**
     * Opens an embedded store.
     *
     * @param config validated settings.
     * @return the store.
     * @throws StoreException        as for {@link Store#open}.
     * @throws IllegalStateException as for {@link Store#open}.
     */
    Store open(StoreConfig config);

    /**
     * Joins a store that many processes share.
     *
     * @param config validated settings.
     * @return the store.
     * @throws StoreException        as for {@link Store#connect}.
     * @throws IllegalStateException as for {@link Store#connect}.
     */
    Store connect(ConnectConfig config);
}
