package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Commands;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreException;
import io.kvtier.store.replica.ReplicaType;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@ExtendWith(LeakCheck.class)
final class DemoTest {
    private static final String SIZES = "1x20,4095x20,4096x20,4097x20,64Kx30,256Kx8";
    private static final long VALUES = 118;
    private static final long BYTES = 20 * (1 + 4095 + 4096 + 4097) + 30 * 65_536 + 8 * 262_144;

    @TempDir
    private Path dir;

    private String[] small(final String... more) {
        final List<String> arguments = new ArrayList<>(List.of("demo", "--memory-bytes", "1M", "--disk-bytes", "8M",
            "--sizes", SIZES, "--dir", dir.toString()));
        arguments.addAll(List.of(more));
        return arguments.toArray(String[]::new);
    }

    private void assertNothingLeft() throws IOException {
        try (var left = Files.list(dir)) {
            assertEquals(List.of(), left.toList());
        }
    }

    private CommandRun failing(final String call, final FaultyStore.Fault fault) {
        return CommandRun.of(config -> FaultyStore.around(Store.open(config), call, fault), small("--json"));
    }

    @Test
    void shouldReadEveryValueBackFromBothTiers() throws IOException {
        final Map<String, Object> json = CommandRun.of(small("--rounds", "2", "--json")).done().json();
        assertEquals("demo", json.get("command"));
        assertEquals("done", json.get("status"));
        assertEquals(VALUES, json.get("puts"));
        assertEquals(4 * VALUES, json.get("gets"));
        assertEquals(BYTES, json.get("put_bytes"));
        assertEquals(4 * BYTES, json.get("get_bytes"));
        assertEquals(4 * VALUES, (long) json.get("memory_hits") + (long) json.get("disk_hits"));
        assertTrue((long) json.get("memory_hits") > 0, json::toString);
        assertTrue((long) json.get("disk_hits") > 0, json::toString);
        assertTrue((long) json.get("memory_evictions") > 0, json::toString);
        assertTrue((long) json.get("offloads") > 0, json::toString);
        assertEquals(0L, json.get("disk_evictions"));
        assertEquals(VALUES, json.get("latency_ns.put.count"));
        assertNothingLeft();
    }

    @Test
    void shouldPrintATableForPeopleAndNothingOnStandardError() throws IOException {
        final CommandRun run = CommandRun.of(small("--threads", "1")).done();
        assertEquals("", run.err());
        assertTrue(run.out().startsWith("118 values, 4.1 MiB, into 1.0 MiB of memory and 8.0 MiB of SSD in " + dir),
            run.out());
        assertTrue(run.out().contains("every byte came back as it was put"), run.out());
        assertTrue(run.out().lines().anyMatch(line -> line.matches("get +236 .*")), run.out());
        assertNothingLeft();
    }

    @Test
    void shouldFailNamingKeyAndOffsetWhenAByteIsWrong() throws IOException {
        final CommandRun run = failing("get", (real, method, arguments) -> {
            final Object outcome = method.invoke(real, arguments);
            final MemorySegment target = ((MemorySegment[]) arguments[1])[0];
            if (target.byteSize() == 4097) {
                target.set(ValueLayout.JAVA_BYTE, 4096, (byte) ~target.get(ValueLayout.JAVA_BYTE, 4096));
            }
            return outcome;
        });
        assertEquals(1, run.status());
        assertTrue(run.err().startsWith("kvtier demo: wrong byte: key default/demo/4097/"), run.err());
        assertTrue(run.err().contains(", offset 4096 of 4097, from "), run.err());
        assertEquals(1, run.err().lines().count());
        assertEquals("failed", run.json().get("status"));
        assertNothingLeft();
    }

    @Test
    void shouldFailWhenAGetClaimsAHitAndBringsNothing() throws IOException {
        final CommandRun run = failing("get", (real, method, arguments) -> {
            final MemorySegment target = ((MemorySegment[]) arguments[1])[0];
            return new GetOutcome(true, target.byteSize(), ReplicaType.MEMORY);
        });
        assertEquals(1, run.status());
        assertTrue(run.err().contains("wrong byte"), run.err());
        assertTrue(run.err().contains(", offset 0 of "), run.err());
        assertNothingLeft();
    }

    @Test
    void shouldFailWhenAValueIsMissing() throws IOException {
        final CommandRun run = failing("get", (real, method, arguments) -> GetOutcome.MISS);
        assertEquals(1, run.status());
        assertTrue(run.err().contains("was put and is missing"), run.err());
        assertNothingLeft();
    }

    @Test
    void shouldFailWhenAValueHasAnotherSize() throws IOException {
        final CommandRun run = failing("get", (real, method, arguments) ->
            new GetOutcome(true, 3, ReplicaType.LOCAL_DISK));
        assertEquals(1, run.status());
        assertTrue(run.err().contains("came back from LOCAL_DISK with 3 bytes, "), run.err());
        assertNothingLeft();
    }

    @Test
    void shouldGiveEverythingBackWhenAPutFails() throws IOException {
        final AtomicInteger puts = new AtomicInteger();
        final CommandRun run = failing("put", (real, method, arguments) -> {
            if (puts.incrementAndGet() == 40) {
                throw new StoreException(ErrorCode.TRANSFER_FAIL, "the disk is on fire");
            }
            return method.invoke(real, arguments);
        });
        assertEquals(1, run.status());
        assertEquals("kvtier demo: TRANSFER_FAIL: the disk is on fire\n", run.err());
        assertTrue(puts.get() < VALUES, "the other thread stops too");
        assertNothingLeft();
    }

    @Test
    void shouldFailWhenThereIsNoRoom() throws IOException {
        final CommandRun run = failing("put", (real, method, arguments) -> PutOutcome.NO_SPACE);
        assertEquals(1, run.status());
        assertTrue(run.err().contains("was not stored: NO_SPACE"), run.err());
        assertNothingLeft();
    }

    @Test
    void shouldGiveEverythingBackWhenItsThreadIsInterrupted() throws IOException {
        final Thread command = Thread.currentThread();
        final AtomicInteger puts = new AtomicInteger();
        final CommandRun run = failing("put", (real, method, arguments) -> {
            if (puts.incrementAndGet() == 40) {
                command.interrupt();
            }
            return method.invoke(real, arguments);
        });
        assertTrue(Thread.interrupted(), "the interrupt is passed on");
        assertEquals(1, run.status());
        assertEquals("kvtier demo: interrupted\n", run.err());
        assertNothingLeft();
    }

    /** As a shell would write it, to be run under another program too. */
    private String longDemo() {
        return "exec '" + Path.of(System.getProperty("java.home"), "bin", "java") + "' "
            + "--enable-native-access=ALL-UNNAMED --add-exports java.base/jdk.internal.misc=ALL-UNNAMED "
            + "-XX:+IgnoreUnrecognizedVMOptions --sun-misc-unsafe-memory-access=allow -cp '"
            + System.getProperty("java.class.path") + "' " + Main.class.getName() + ' '
            + String.join(" ", small("--rounds", "1000"));
    }

    /** Starts a demonstration that would go on for long, waits for something it prints, and sends its JVM a signal. */
    private void endWithSignal(final String signal, final int status, final String printed, final String... command)
        throws IOException, InterruptedException {
        final Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        try (BufferedReader out = new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            final StringBuilder read = new StringBuilder();
            while (read.indexOf(printed) < 0) {
                final int next = out.read();
                assertTrue(next >= 0, () -> "ended too early: " + read);
                read.append((char) next);
            }
            final long jvm = Stream.concat(Stream.of(process.toHandle()), process.descendants())
                .reduce((outer, inner) -> inner).orElseThrow().pid();
            assertEquals(0, Commands.run("kill", "-" + signal, Long.toString(jvm)).code());
            // The rest has to be read, or the process would wait for that.
            out.lines().forEach(line -> read.append(line).append('\n'));
            assertTrue(process.waitFor(60, TimeUnit.SECONDS), "did not end");
            assertEquals(status, process.exitValue(), read::toString);
        } finally {
            process.destroyForcibly();
        }
        assertNothingLeft();
    }

    @Test
    void shouldLeaveNoDirectoryWhenTheProcessIsEnded() throws IOException, InterruptedException {
        endWithSignal("TERM", 143, " of SSD in " + dir, "sh", "-c", longDemo());
    }

    @Test
    void shouldPaintABarOnATerminalAndLeaveNoDirectoryWhenInterruptedThere() throws IOException, InterruptedException {
        final Commands.Result script = Commands.run("script", "-qec", "true", "/dev/null");
        NotExercised.require("script", script.code() == 0, "the program that makes a terminal: " + script.output());
        endWithSignal("INT", 130, "get   0% [", "script", "-qec", longDemo(), "/dev/null");
    }
}
