package io.kvtier.bindings.uring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.Commands;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Rings closed while their operations are in flight, in a JVM of its own: memory that the kernel writes after it was
 * freed would end the process, which must be a failed test and not the end of all of them.
 */
class UringCloseProcessTest {
    @TempDir
    private Path directory;

    @BeforeEach
    void makeFiles() throws IOException, InterruptedException {
        NotExercised.require("uring", Uring.availability().available(), Uring.availability().reason());
        final Path file = Files.write(directory.resolve("file"),
            PatternBytes.of(1, UringCloseVictim.DEPTH * UringCloseVictim.PIECE));
        assertEquals(0, Commands.run("mkfifo", directory.resolve("pipe").toString()).code());
        try {
            PosixFile.open(file.toString(), OpenMode.READ_WRITE_DIRECT).close();
        } catch (final ErrnoException e) {
            NotExercised.require("direct-io", e.errno() != Errno.EINVAL, "the directory of the tests refuses O_DIRECT");
            throw e;
        }
    }

    private List<String> victim(final UringCloseVictim.Scenario scenario) {
        return Commands.javaCommand(List.of("-XX:-CreateCoredumpOnCrash", "-XX:ErrorFile=" + directory.resolve("crash"),
            "-Xmx128m", "--enable-native-access=ALL-UNNAMED",
            "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED", "-XX:+IgnoreUnrecognizedVMOptions",
            "--sun-misc-unsafe-memory-access=allow"), UringCloseVictim.class, scenario.name(), directory.toString());
    }

    @ParameterizedTest
    @EnumSource(value = UringCloseVictim.Scenario.class, mode = EnumSource.Mode.EXCLUDE, names = "REGISTERED_AGAIN")
    void shouldSurviveClosingInUse(final UringCloseVictim.Scenario scenario) throws InterruptedException {
        checkDone(Commands.run(victim(scenario)));
    }

    private static void checkDone(final Commands.Result result) {
        assertEquals("done\n", result.output());
        assertEquals(0, result.code());
    }

    @Test
    void shouldRegisterMemoryAgainAtOnceWhereLittleCanBeLocked() throws InterruptedException {
        final List<String> limited = new ArrayList<>(List.of("prlimit", "--memlock=8388608:8388608"));
        NotExercised.require("prlimit", Commands.run("prlimit", "--version").code() == 0,
            "prlimit (package util-linux) is not installed");
        // Root is not limited while it has this capability; others cannot drop it, and have none.
        final List<String> dropped = List.of("setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock");
        final List<String> probe = new ArrayList<>(dropped);
        probe.add("true");
        if (Commands.run(probe).code() == 0) {
            limited.addAll(dropped);
        }
        limited.addAll(victim(UringCloseVictim.Scenario.REGISTERED_AGAIN));
        checkDone(Commands.run(limited));
    }

    @Test
    void shouldNoticeAProcessThatCrashes() throws InterruptedException {
        final Commands.Result result = Commands.java(List.of("-XX:-CreateCoredumpOnCrash", "-Xmx64m",
            "-XX:ErrorFile=" + directory.resolve("crash"), "--enable-native-access=ALL-UNNAMED"),
            UringCloseVictim.class, "crash", directory.toString());
        assertNotEquals(0, result.code());
        assertTrue(result.output().contains("SIGSEGV"), result.output());
    }
}
