package io.kvtier.store.client;

import io.kvtier.store.ConnectConfig;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreProvider;
import io.kvtier.store.client.engine.StoreHooks;

/** Opens stores for the service loader. */
public final class ClientStoreProvider implements StoreProvider {
    /** Made by the service loader. */
    public ClientStoreProvider() {
        // Stateless.
    }

    @Override
    public Store open(final StoreConfig config) {
        return EmbeddedStore.open(config, StoreHooks.SYSTEM);
    }

    @Override
    public Store connect(final ConnectConfig config) {
        return ConnectedStore.open(config, StoreHooks.SYSTEM);
    }
}
