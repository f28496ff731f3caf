package io.kvtier.transport.gds;

class GdsHostSyncTransportTest extends GdsHostTransportContract {
    @Override
    GdsConfig config() {
        return GdsRig.calls(3);
    }
}
