package io.kvtier.bindings.hf3fs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Commands;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Rings that are given up, in a JVM of their own: what is left on purpose would be a leak to every other test. */
class UsrbioAbandonedTest {
    @TempDir
    private Path directory;

    @ParameterizedTest
    @EnumSource(UsrbioAbandonedVictim.Scenario.class)
    void shouldLeaveAndCountWhatIsNotHeardOf(final UsrbioAbandonedVictim.Scenario scenario)
        throws InterruptedException {
        final Commands.Result result = Commands.java(Commands.NATIVE_FLAGS, UsrbioAbandonedVictim.class,
            scenario.name(), directory.toString());

        assertEquals(0, result.code(), result.output());
        assertTrue(result.output().endsWith("done\n"), result.output());
    }
}
