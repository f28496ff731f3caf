package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.kit.Commands;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Signals of processes of their own; the system adds the number of the signal that ended one to 128. */
@Timeout(120)
final class StopSignalsTest {
    /** Is asked to end, and never does. */
    static final class Stubborn {
        private Stubborn() {
        }

        public static void main(final String[] arguments) throws InterruptedException {
            final StopSignals signals = StopSignals.listen();
            System.out.println("ready");
            signals.await();
            System.out.println("asked");
            new CountDownLatch(1).await();
        }
    }

    private static Process start(final String... flags) throws IOException {
        return new ProcessBuilder(Commands.javaCommand(List.of(flags), Stubborn.class)).redirectErrorStream(true)
            .start();
    }

    private static void send(final String signal, final Process process) throws InterruptedException {
        assertEquals(0, Commands.run("kill", "-" + signal, String.valueOf(process.pid())).code());
    }

    @ParameterizedTest
    @CsvSource({"TERM, TERM, 143", "TERM, INT, 130", "INT, TERM, 143", "INT, INT, 130"})
    void shouldEndTheSystemsWayAtTheSecondSignal(final String first, final String second, final int status)
        throws IOException, InterruptedException {
        final Process process = start();
        try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
            assertEquals("ready", out.readLine());
            send(first, process);
            assertEquals("asked", out.readLine());
            send(second, process);
            assertEquals(null, out.readLine());
            assertEquals(status, process.waitFor());
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void shouldLeaveSignalsToTheSystemWhenTheJvmDoes() throws IOException, InterruptedException {
        final Process process = start("-Xrs");
        try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
            assertEquals("ready", out.readLine());
            send("TERM", process);
            assertEquals(null, out.readLine());
            assertEquals(143, process.waitFor());
        } finally {
            process.destroyForcibly();
        }
    }
}
