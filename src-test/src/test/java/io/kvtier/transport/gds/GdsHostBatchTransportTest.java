package io.kvtier.transport.gds;

class GdsHostBatchTransportTest extends GdsHostTransportContract {
    @Override
    GdsConfig config() {
        return GdsConfig.DEFAULT;
    }
}
