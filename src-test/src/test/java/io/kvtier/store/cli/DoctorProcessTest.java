package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kvtier.kit.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The doctor in a JVM of its own, on this machine as it is. */
final class DoctorProcessTest {
    @TempDir
    private Path dir;

    private CommandRun doctor(final List<String> flags) throws InterruptedException {
        final Commands.Result result = Commands.java(flags, Main.class, "doctor", "--json", "--dir", dir.toString());
        // Both streams come as one: the object is the line that starts with a brace.
        final List<String> lines = result.output().lines().toList();
        final List<String> objects = lines.stream().filter(line -> line.startsWith("{")).toList();
        assertEquals(1, objects.size(), result.output());
        final List<String> rest = new ArrayList<>(lines);
        rest.removeAll(objects);
        return new CommandRun(result.code(), objects.getFirst(), String.join("\n", rest));
    }

    @Test
    void shouldFindThatAStoreRunsWhereTheseTestsRun() throws InterruptedException, IOException {
        final List<String> flags = new ArrayList<>(List.of("--enable-native-access=ALL-UNNAMED", "--add-exports",
            "java.base/jdk.internal.misc=ALL-UNNAMED"));
        if (Runtime.version().feature() > 22) {
            flags.add("--sun-misc-unsafe-memory-access=allow");
        }
        final CommandRun run = doctor(flags).done();
        final Map<String, Finding> findings = MadeUpMachine.findings(run);
        assertEquals("", run.err());
        for (final String name : List.of("jdk", "flag_native_access", "flag_add_exports", "flag_unsafe_memory",
            "directory", "store")) {
            assertEquals(Finding.State.OK, findings.get(name).state(), () -> findings.get(name).toString());
        }
        try (Stream<Path> left = Files.list(dir)) {
            assertEquals(List.of(), left.toList());
        }
    }

    @Test
    void shouldSayWhichFlagsAreMissingWithoutAnyOfThem() throws InterruptedException {
        final CommandRun run = doctor(List.of());
        assertEquals(1, run.status());
        final Map<String, Finding> findings = MadeUpMachine.findings(run);
        assertTrue(findings.get("flag_native_access").remedy().endsWith("--enable-native-access=ALL-UNNAMED"));
        assertTrue(findings.get("flag_add_exports").remedy()
            .endsWith("--add-exports java.base/jdk.internal.misc=ALL-UNNAMED"));
        assertEquals(Finding.State.OK, findings.get("directory").state());
        assertEquals(Finding.State.BROKEN, findings.get("store").state());
        assertEquals("add to the java command line: --enable-native-access=ALL-UNNAMED",
            findings.get("io_uring").remedy());
        // Nothing native was touched: the JVM would have warned of it.
        assertFalse(run.err().contains("WARNING"), run.err());
        assertEquals(1, run.err().lines().count(), run.err());
    }

    @Test
    void shouldRunWhereNativeAccessIsDenied() throws InterruptedException {
        assumeTrue(Runtime.version().feature() >= 24, "native access can be denied from JDK 24 on");
        final CommandRun run = doctor(List.of("--illegal-native-access=deny"));
        assertEquals(1, run.status());
        assertEquals(Finding.State.BROKEN, MadeUpMachine.findings(run).get("flag_native_access").state());
    }
}
