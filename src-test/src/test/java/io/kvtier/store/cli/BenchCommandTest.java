package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Commands;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
import io.kvtier.store.Store;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@ExtendWith(LeakCheck.class)
final class BenchCommandTest {
    private static final String SMALL = "posix read 64 KiB, depth 8";

    @TempDir
    private Path dir;

    private String[] quick(final String rows, final String... more) {
        return arguments("0.01", rows, more);
    }

    private String[] arguments(final String seconds, final String rows, final String... more) {
        final List<String> arguments = new ArrayList<>(List.of("bench", "transfer", "--dir", dir.toString(), "--size",
            "64M", "--seconds", seconds, "--runs", "1", "--rows", rows));
        arguments.addAll(List.of(more));
        return arguments.toArray(String[]::new);
    }

    private void assertNothingLeft() throws IOException {
        try (var left = Files.list(dir)) {
            assertEquals(List.of(), left.toList());
        }
    }

    @Test
    void shouldPrintExactlyTheFieldsThatWereAgreedOn() throws IOException, InterruptedException {
        final CommandRun run = CommandRun.of(quick('^' + SMALL + "|heap per request, posix", "--json")).done();
        final Map<String, Object> json = run.json();

        assertEquals(1, run.out().lines().count());
        assertEquals(Set.of("bench", "machine", "rows"), json.keySet().stream()
            .map(name -> name.split("\\.")[0]).collect(Collectors.toSet()));
        assertEquals(Set.of("row", "unit", "ours", "peer", "peer_value", "ratio", "goal"), json.keySet().stream()
            .filter(name -> name.startsWith("rows.")).map(name -> name.split("\\.")[2]).collect(Collectors.toSet()));
        assertEquals("transfer", json.get("bench"));
        assertEquals(SMALL, json.get("rows.0.row"));
        assertEquals("MiB/s", json.get("rows.0.unit"));
        assertTrue(number(json, "rows.0.ours") > 0, json::toString);
        assertEquals(0.95, json.get("rows.0.goal"));
        assertEquals("heap per request, posix", json.get("rows.1.row"));
        assertEquals(64.0, json.get("rows.1.peer_value"));
        final double ours = number(json, "rows.1.ours");
        assertEquals(64 / ours, number(json, "rows.1.ratio"), 0.001 * 64 / ours);
        assertFalse(json.containsKey("rows.2.row"), json::toString);
        assertTrue((long) json.get("machine.cores") > 0, json::toString);
        if (Commands.run("fio", "--version").code() == 0) {
            assertEquals("fio", json.get("rows.0.peer"));
            assertEquals(number(json, "rows.0.ours") / number(json, "rows.0.peer_value"),
                number(json, "rows.0.ratio"), 0.001 * number(json, "rows.0.ratio"));
        } else {
            assertEquals("fio (not installed: Debian package fio)", json.get("rows.0.peer"));
            assertNull(json.get("rows.0.ratio"));
        }
        assertNothingLeft();
    }

    /** A whole number is read as one, whatever it measures. */
    private static double number(final Map<String, Object> json, final String key) {
        return ((Number) json.get(key)).doubleValue();
    }

    @Test
    void shouldMoveBytesByEveryTransportThatIsHere() throws IOException {
        final String rows = "^(io_uring|posix) write 64 KiB, (depth 8|8 refilled)|^memory read 64 KiB|^shm"
            + "|^tcp read 64 KiB, 1|^gds";
        final Map<String, Object> json = CommandRun.of(quick(rows, "--json")).done().json();
        int row = 0;
        for (; json.containsKey("rows." + row + ".row"); row++) {
            final boolean measured = json.get("rows." + row + ".ours") instanceof Number ours && ours.doubleValue() > 0;
            assertTrue(measured || json.get("rows." + row + ".peer").toString().contains("(not run: "),
                json.get("rows." + row + ".row") + " " + json);
        }
        assertEquals(11, row, json::toString);
        assertNothingLeft();
    }

    @Test
    void shouldPrintATableForPeopleAndProgressOnStandardError() throws IOException {
        final CommandRun run = CommandRun.of(quick('^' + SMALL)).done();
        assertTrue(run.err().startsWith("[1/1] " + SMALL + ": "), run.err());
        assertEquals(1, run.err().lines().count(), run.err());
        assertTrue(run.out().startsWith("cpu: "), run.out());
        assertTrue(run.out().lines().anyMatch(line -> line.startsWith(SMALL + "  MiB/s  ")), run.out());
        assertNothingLeft();
    }

    @Test
    void shouldSayWhenTheDirectoryIsNoDisk() throws IOException {
        final MadeUpMachine machine = new MadeUpMachine(dir.resolve("machine"));
        machine.volume = new Probes.Volume("tmpfs", "tmpfs", 0, 31, 1L << 30);
        final CommandRun run = CommandRun.of(console -> BenchCommand.all(console, Store::open, machine.machine(),
            machine).setErr(new PrintWriter(console.err(), true)).execute("transfer", "--dir", dir.toString(),
            "--rows", "^no row"));
        assertEquals(1, run.status());
        assertTrue(run.err().startsWith("note: " + dir), run.err());
        assertTrue(run.err().contains(" is on tmpfs, which is memory"), run.err());
    }

    @Test
    void shouldRefuseToStartWithoutTheFlagsOfNativeCode() {
        final MadeUpMachine machine = new MadeUpMachine(dir.resolve("machine"));
        machine.missingFlags = List.of("--enable-native-access=ALL-UNNAMED");
        final CommandRun run = CommandRun.of(console -> BenchCommand.all(console, Store::open, machine.machine(),
            machine).execute("transfer", "--dir", dir.toString()));
        assertEquals(1, run.status());
        assertTrue(run.err().contains("started without --enable-native-access=ALL-UNNAMED; add it"), run.err());
    }

    @Test
    void shouldLeaveNeitherFilesNorProgramsWhenTheProcessIsEnded() throws IOException, InterruptedException {
        NotExercised.require("fio", Commands.run("fio", "--version").code() == 0, "the program of the peer");
        final List<String> command = Commands.javaCommand(List.of("--enable-native-access=ALL-UNNAMED",
            "--add-exports", "java.base/jdk.internal.misc=ALL-UNNAMED"), Main.class,
            arguments("600", "^posix read 64 KiB"));
        final Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        try (BufferedReader out = new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            while (process.descendants().noneMatch(BenchCommandTest::isMeasuring)) {
                assertTrue(process.isAlive(), "ended too early");
                Thread.onSpinWait();
            }
            assertEquals(0, Commands.run("kill", "-TERM", Long.toString(process.pid())).code());
            assertEquals(List.of(), out.lines().filter(line -> !line.startsWith("WARNING"))
                .filter(line -> !line.endsWith(": interrupted")).toList());
            assertTrue(process.waitFor(60, TimeUnit.SECONDS), "did not end");
            assertEquals(143, process.exitValue());
        } finally {
            process.destroyForcibly();
        }
        assertNothingLeft();
        assertEquals(List.of(), ProcessHandle.allProcesses().filter(BenchCommandTest::isMeasuring)
            .filter(handle -> handle.info().commandLine().orElse("").contains(dir.toString())).toList());
    }

    private static boolean isMeasuring(final ProcessHandle process) {
        return process.info().commandLine().orElse("").contains("--filename=");
    }
}
