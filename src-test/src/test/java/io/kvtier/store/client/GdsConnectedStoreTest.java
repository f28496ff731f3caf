package io.kvtier.store.client;

import io.kvtier.store.GdsConfig;
import org.junit.jupiter.api.AfterEach;

/** Over sockets, with memory of its own, by the C library. */
class GdsConnectedStoreTest extends GdsStoreContract {
    private Cluster cluster;

    @Override
    ClientStore open(final long memoryBytes, final GdsConfig gds) {
        close();
        cluster = new Cluster(Cluster.settings(1, 0));
        return cluster.join(config -> config.name("node").memoryBytes(memoryBytes).gds(gds), faults);
    }

    @AfterEach
    void close() {
        if (cluster != null) {
            cluster.close();
        }
    }

    @Override
    GdsConfig.Mover mover() {
        return GdsConfig.Mover.POSIX;
    }
}
