package io.kvtier.store.client;

import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreProvider;

/** Opens embedded stores for the service loader. */
public final class EmbeddedStoreProvider implements StoreProvider {
    /** Made by the service loader. */
    public EmbeddedStoreProvider() {
        // Stateless.
    }

    @Override
    public Store open(final StoreConfig config) {
        return EmbeddedStore.open(config, StoreHooks.SYSTEM);
    }
}
