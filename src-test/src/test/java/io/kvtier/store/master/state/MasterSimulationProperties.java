package io.kvtier.store.master.state;

import io.kvtier.kit.LeakCheck;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** Random interleavings of open calls against the state machine; a failing seed replays exactly. */
class MasterSimulationProperties {
    private static final double[] WATERMARKS = {1, 0.9, 0.5};
    private static final double[] RATIOS = {0, 0.05, 0.4};

    @Property(tries = 400)
    void invariantsHoldWhateverTheOrder(@ForAll final long seed, @ForAll @IntRange(max = 2) final int watermark,
        @ForAll @IntRange(max = 2) final int ratio, @ForAll @IntRange(max = 1) final int leased) {
        LeakCheck.around(() -> {
            try (MasterSimulation simulation = new MasterSimulation(seed, WATERMARKS[watermark], RATIOS[ratio],
                leased * 60L)) {
                for (int i = 0; i < 200; i++) {
                    simulation.step();
                }
                simulation.finish();
            }
        });
    }
}
