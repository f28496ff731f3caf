package io.kvtier.store.storage;

import io.kvtier.store.DiskBackend;
import io.kvtier.transport.TransferEngine;

class DistributedBackendTest extends StorageBackendContract {
    @Override
    StorageBackend open(final BackendRig.Setup setup, final TransferEngine engine) {
        return BackendRig.of(DiskBackend.DISTRIBUTED).open(setup, engine);
    }
}
