package io.kvtier.transport.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Commands;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** In processes of their own, which have too little of something: nothing is left behind, and nobody waits for ever. */
class StarvedTest {
    /** Of a process that hangs; a good one is done in a second or two. */
    private static final Duration LIMIT = Duration.ofMinutes(2);

    private static List<String> run(final String limit, final String what) throws InterruptedException {
        final List<String> command = new ArrayList<>(List.of("sh", "-c", limit + "exec \"$@\"", "sh"));
        final List<String> flags = new ArrayList<>(Commands.NATIVE_FLAGS);
        flags.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:MaxDirectMemorySize=4m"));
        command.addAll(Commands.javaCommand(flags, Starved.class, what));
        final Commands.Result result = Commands.run(LIMIT, command);
        assertEquals(0, result.code(), result.output());
        return result.output().lines().toList();
    }

    private static void assertSaid(final List<String> said, final int times, final String what) {
        assertEquals(times, said.stream().filter(line -> line.contains(what)).count(), said.toString());
    }

    @Test
    void shouldLeaveNothingBehindWhenThereAreTooFewDescriptorsForAServer() throws InterruptedException {
        final List<String> said = run("ulimit -n 200; ", "descriptors");

        assertSaid(said, 2, "refused: cannot open a selector");
        assertSaid(said, 1, "threads left: 0");
    }

    @Test
    void shouldLetGoWhomAServerHasNoBuffersFor() throws InterruptedException {
        final List<String> said = run("", "server");

        assertSaid(said, 3, "connected, and heard -1");
        assertSaid(said, 1, "connections left: 0");
    }

    @Test
    void shouldFailToOpenWhenThereAreNoBuffersForAConnection() throws InterruptedException {
        final List<String> said = run("", "client");

        assertSaid(said, 3, "refused: ");
        assertTrue(said.stream().anyMatch(line -> line.contains("direct")), said.toString());
    }
}
