package io.kvtier.store.cli.bench;

import java.io.IOException;

/** Makes a load ready on a rig. */
@FunctionalInterface
interface Loads {
    /**
     * Opens memory, segment and engine, and a load over them.
     *
     * @param rig keeps what is opened.
     * @return the load.
     */
    EngineLoad open(Rig rig) throws IOException, InterruptedException;
}
