package io.kvtier.transport.gds;

import io.kvtier.bindings.cufile.CuFileConfig;
import io.kvtier.kit.SimulatedCuFile;

/** GPUDirect Storage over a simulated library, for tests of those above the transports. */
public final class SimulatedGds {
    private SimulatedGds() {
    }

    /** As a store opens it, with no GPU. */
    public static GdsTransport open(final SimulatedCuFile simulated, final GdsConfig config) {
        return GdsTransport.open(simulated.cuFile(), config, GdsRig.around(simulated),
            CuFileConfig.DEFAULT.posixPool());
    }
}
