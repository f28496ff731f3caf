package io.kvtier.store.client;

/** A client that lends nothing: memory and disk are another's, over TCP. */
class TcpClientStoreTest extends ConnectedStoreContract {
    @Override
    ClientStore open(final long memoryBytes, final long diskBytes) {
        final Cluster cluster = cluster();
        cluster.join(config -> config.name("node").memoryBytes(memoryBytes).disk(directory(), diskBytes)
            .stagingBytes(1 << 20).shm(false));
        return cluster.join(config -> config.name("client"));
    }
}
