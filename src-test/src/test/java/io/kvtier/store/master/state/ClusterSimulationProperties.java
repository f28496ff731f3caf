package io.kvtier.store.master.state;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.master.state.MasterSettings.Eviction;
import io.kvtier.store.master.state.MasterSettings.Strategy;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;

/**
 * Several clients that come, go, put, read and copy in any order; a failing seed replays exactly, and so do the
 * commands alone.
 */
class ClusterSimulationProperties {
    private static final int STEPS = 250;

    @Property(tries = 300, shrinking = ShrinkingMode.OFF)
    void nobodyIsGivenWhatAnotherMayTouchAndNothingIsLeftInTheEnd(@ForAll final long seed,
        @ForAll final Strategy strategy, @ForAll final boolean early, @ForAll final boolean softToo) {
        LeakCheck.around(() -> {
            final double high = early ? 0.7 : 1;
            try (ClusterSimulation cluster = new ClusterSimulation(seed, new Eviction(high, 0.2, high, 0.2, softToo),
                strategy)) {
                for (int i = 0; i < STEPS; i++) {
                    cluster.step();
                }
                cluster.finish();
                cluster.assertRepeatable();
            }
        });
    }
}
