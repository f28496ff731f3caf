package io.kvtier.bindings.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Owners closed by one thread while another uses them, in a JVM whose crash is a failure of the test. */
class CloseInUseTest {
    private static final Duration LIMIT = Duration.ofSeconds(120);

    @TempDir
    private Path directory;

    /** A crash is told in the output; where it happened makes the failure worth reading. */
    static void run(final String where, final String scenario, final int rounds) throws InterruptedException {
        final List<String> flags = new ArrayList<>(Commands.NATIVE_FLAGS);
        flags.addAll(List.of("-XX:+ErrorFileToStdout", "-XX:-CreateCoredumpOnCrash", "-Xmx512m"));
        final Commands.Result result = Commands.run(LIMIT,
            Commands.javaCommand(flags, CloseInUse.class, where, scenario, Integer.toString(rounds)));
        assertEquals(0, result.code(), result.output());
        assertTrue(result.output().contains(CloseInUse.WELL + scenario), result.output());
    }

    @ParameterizedTest
    @ValueSource(strings = {"handle", "buffer", "driver", "batch", "cancel"})
    void shouldEndOrRefuseEveryUseWhenClosedByAnotherThread(final String scenario) throws InterruptedException {
        run("simulated", scenario, 200);
    }

    @ParameterizedTest
    @ValueSource(strings = {"handle", "buffer", "driver", "batch", "cancel", "memory", "stream", "copies", "context"})
    void shouldEndOrRefuseEveryUseOnAGpu(final String scenario) throws InterruptedException, IOException {
        GdsSmokeTest.requireGds();
        final Path file = Files.createTempFile(GdsSmokeTest.folder(), "close", ".bin");
        try {
            // A cancellation waits a second for events that do not come.
            run(file.toString(), scenario, scenario.equals("cancel") ? 4 : 24);
        } finally {
            Files.delete(file);
        }
    }
}
