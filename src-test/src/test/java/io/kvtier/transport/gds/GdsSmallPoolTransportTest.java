package io.kvtier.transport.gds;

import io.kvtier.bindings.cufile.PoolSlabs;
import java.util.List;

/** Two threads, and buffers for a few entries only: slices wait for them, and large ones are moved in parts. */
class GdsSmallPoolTransportTest extends GdsTransportContract {
    @Override
    GdsConfig config() {
        return new GdsConfig(true, 5, GdsConfig.Mode.BATCH, 2, 2, false, true, 10, false);
    }

    @Override
    List<PoolSlabs> pool() {
        return List.of(new PoolSlabs(4, 3), new PoolSlabs(64, 2), new PoolSlabs(1024, 3));
    }
}
