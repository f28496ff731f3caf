package io.kvtier.store.master.state;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.config.MasterSettings;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** Random interleavings of puts, copies, tasks and drains of several tenants; a failing seed replays exactly. */
class TenantSimulationProperties {
    private static final double[] WATERMARKS = {1, 0.9, 0.5};

    @Property(tries = 300)
    void chargesRangesAndTasksAreWhatTheAnswersSaid(@ForAll final long seed, @ForAll final boolean strict,
        @ForAll @IntRange(max = 2) final int watermark) {
        LeakCheck.around(() -> {
            try (TenantSimulation simulation = new TenantSimulation(seed, strict,
                new MasterSettings.Eviction(WATERMARKS[watermark], 0.05, 1, 0, true))) {
                for (int i = 0; i < 200; i++) {
                    simulation.step();
                }
                simulation.finish();
            }
        });
    }
}
