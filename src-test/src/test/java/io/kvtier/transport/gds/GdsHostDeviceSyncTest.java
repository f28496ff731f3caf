package io.kvtier.transport.gds;

class GdsHostDeviceSyncTest extends GdsHostDeviceContract {
    @Override
    GdsConfig config() {
        return new GdsConfig(true, 32, GdsConfig.Mode.SYNC, 0, 1, false, true, 1000, false);
    }
}
