package io.kvtier.store.storage;

import io.kvtier.transport.TransferEngine;

class OffsetAllocatorBackendTest extends StorageBackendContract {
    @Override
    StorageBackend open(final BackendRig.Setup setup, final TransferEngine engine) {
        return BackendRig.offsetAllocator(setup, engine);
    }
}
