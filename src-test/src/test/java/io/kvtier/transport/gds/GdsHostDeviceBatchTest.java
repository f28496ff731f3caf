package io.kvtier.transport.gds;

class GdsHostDeviceBatchTest extends GdsHostDeviceContract {
    @Override
    GdsConfig config() {
        return GdsConfig.DEFAULT;
    }
}
