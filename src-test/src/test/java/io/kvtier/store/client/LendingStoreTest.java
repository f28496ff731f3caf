package io.kvtier.store.client;

/** A client that lends all the memory and the disk itself, so that everything is at hand. */
class LendingStoreTest extends ConnectedStoreContract {
    @Override
    ClientStore open(final long memoryBytes, final long diskBytes) {
        return cluster().join(config -> config.memoryBytes(memoryBytes).disk(directory(), diskBytes).shm(false));
    }
}
