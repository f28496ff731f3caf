package io.kvtier.transport.gds;

class GdsDeviceBatchTest extends GdsDeviceContract {
    @Override
    GdsConfig config() {
        return GdsConfig.DEFAULT;
    }
}
