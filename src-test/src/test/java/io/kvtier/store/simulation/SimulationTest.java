package io.kvtier.store.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Many seeds of the simulation; CONTRIBUTING.md says how to run more, and how to look at one. */
@ExtendWith(LeakCheck.class)
class SimulationTest {
    private static final int SEEDS = Integer.getInteger("kvtier.simulation.seeds", 600);
    private static final int FIRST = Integer.getInteger("kvtier.simulation.first", 1);
    private static final int SHOWN = 5;

    @Test
    void shouldKeepItsPromisesWhateverGoesWrong() {
        final Tally tally = new Tally();
        final StringBuilder violations = new StringBuilder();
        int failed = 0;
        for (int seed = FIRST; seed < FIRST + SEEDS; seed++) {
            try {
                tally.add(Simulation.run(seed, Rule.ALL, null));
            } catch (final Violation e) {
                if (++failed <= SHOWN) {
                    violations.append(System.lineSeparator()).append("seed ").append(seed).append(": ")
                        .append(e.getMessage());
                }
            }
        }
        System.out.println("simulation of " + SEEDS + " seeds from " + FIRST + ":");
        System.out.print(tally);
        assertEquals("", violations.toString(), failed + " of " + SEEDS + " seeds failed");
        assertEquals(List.of(), tally.missing(), "never happened over all seeds, so nothing was proved about it");
    }

    /** A client that breaks a rule must be found out, within so many seeds; a wrong read may get any value. */
    @ParameterizedTest
    @CsvSource({
        "CHECK_THE_LEASE, a read got, 40",
        "KEEP_WHAT_IS_UNCERTAIN, a read got, 40",
        "END_WHAT_IS_WRITTEN, a read got, 10",
        "ACKNOWLEDGE_DROPS, nothing should be left, 40",
        "ASK_WHAT_IS_IN_DOUBT, has in its file, 10",
        "CHECK_THE_EXTENT, a read got, 200"})
    void shouldFindOutAClientThatBreaksARule(final Rule rule, final String what, final int seeds) {
        for (int seed = 1; seed <= seeds; seed++) {
            try {
                Simulation.run(seed, Rule.without(rule), null);
            } catch (final Violation e) {
                assertTrue(e.getMessage().contains(what), e::getMessage);
                return;
            }
        }
        throw new AssertionError(rule + " was broken in " + seeds + " seeds, and nothing was noticed");
    }

    @Test
    void shouldDoTheSameAgainForTheSameSeed() {
        assertEquals(trace(), trace());
    }

    private static String trace() {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        Simulation.run(1, Rule.ALL, new PrintStream(bytes, true, StandardCharsets.UTF_8));
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
