package io.kvtier.store.client;

import io.kvtier.kit.FaultyFiles;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.config.Environment;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** In one process, by the C library. */
class GdsEmbeddedStoreTest extends GdsStoreContract {
    private static final long LEASE_MS = 50;

    @Override
    ClientStore open(final long memoryBytes, final GdsConfig gds) {
        return EmbeddedStore.open(StoreConfig.builder().memoryBytes(memoryBytes).eviction(1, 0).leaseMs(LEASE_MS)
            .gds(gds).build(), new StoreHooks(() -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime()),
                new FaultyFiles(faults), Environment.of(Map.of())));
    }

    @Override
    GdsConfig.Mover mover() {
        return GdsConfig.Mover.POSIX;
    }
}
