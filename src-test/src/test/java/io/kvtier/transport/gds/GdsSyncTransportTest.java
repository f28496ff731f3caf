package io.kvtier.transport.gds;

class GdsSyncTransportTest extends GdsTransportContract {
    @Override
    GdsConfig config() {
        return new GdsConfig(true, 32, GdsConfig.Mode.SYNC, 3, 1, false, true, 10, false);
    }
}
