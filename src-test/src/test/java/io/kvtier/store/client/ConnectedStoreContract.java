package io.kvtier.store.client;

import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;

/** The contract over sockets: a master, and whoever lends what the store under test uses. */
abstract class ConnectedStoreContract extends StoreContract {
    @TempDir
    private Path directory;
    private Cluster cluster;

    Path directory() {
        return directory;
    }

    /** A new cluster with the defaults of the contract; the last one is closed by the test. */
    Cluster cluster() {
        cluster = new Cluster(Cluster.settings(1, 0)).with(devices());
        return cluster;
    }

    @AfterEach
    void closeCluster() {
        if (cluster != null) {
            cluster.close();
        }
    }
}
