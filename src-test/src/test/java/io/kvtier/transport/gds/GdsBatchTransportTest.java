package io.kvtier.transport.gds;

class GdsBatchTransportTest extends GdsTransportContract {
    @Override
    GdsConfig config() {
        return GdsConfig.DEFAULT;
    }
}
