package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.cufile.CuFile;
import io.kvtier.bindings.cufile.CuFileMode;
import io.kvtier.bindings.cufile.PoolSlabs;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Trials that end in every way that a library can make them end, each in a JVM of its own. */
class TrialProcessTest {
    private static final Duration LONG = Duration.ofSeconds(60);

    @TempDir
    private Path dir;

    /** Stands in for the trial: the scenario, then the directory if there is one. */
    static final class Actor {
        private Actor() {
        }

        @SuppressWarnings("restricted")
        public static void main(final String[] arguments) throws IOException {
            if (arguments[0].equals("silent")) {
                return;
            }
            System.out.println("a line of the library's own");
            say("reason libcufile.so.0, version 1.15");
            say("remedy ");
            say("library yes");
            if (arguments.length < 2) {
                return;
            }
            say("pool 4x128,1024x64");
            switch (arguments[0]) {
                case "crash" -> MemorySegment.ofAddress(8).reinterpret(8).set(ValueLayout.JAVA_LONG, 0, 1);
                case "halt" -> Runtime.getRuntime().halt(134);
                case "hang" -> {
                    while (true) {
                        LockSupport.park();
                    }
                }
                case "refuse" -> {
                    Files.writeString(Path.of("cufile.log"), " 29-11-2026 22:10 [pid=1 tid=1] ERROR  cufio-fs:77 udev"
                        + " property not found: ID_FS_USAGE\n 29-11-2026 22:10 [pid=1 tid=1] ERROR  cufio:331 second\n"
                        + " 29-11-2026 22:10 [pid=1 tid=1] INFO  bye\n");
                    say("code 5027");
                    say("failure cuFileHandleRegister failed");
                }
                default -> say("mode NVIDIA_FS");
            }
        }

        private static void say(final String words) {
            System.out.println(CuFileTrial.PREFIX + words);
        }
    }

    private static List<String> scenario(final String name) {
        final List<String> words = new ArrayList<>(TrialProcess.javaCommand(Actor.class));
        words.add(name);
        return words;
    }

    private Probes.GpuFiles run(final String scenario) {
        return new TrialProcess(scenario(scenario), LONG).run(dir);
    }

    @AfterEach
    void leaveNothing() throws IOException {
        try (Stream<Path> left = Files.list(dir)) {
            assertEquals(List.of(), left.toList());
        }
    }

    @Test
    void shouldTellWhatWasSeenWhenItGoesWell() {
        final Probes.GpuFiles seen = run("good");
        assertTrue(seen.library().available());
        assertEquals("libcufile.so.0, version 1.15", seen.library().reason());
        assertEquals(CuFileMode.NVIDIA_FS, seen.mode());
        assertEquals("", seen.failure());
        assertEquals(List.of(new PoolSlabs(4, 128), new PoolSlabs(1024, 64)), seen.pool());
    }

    @Test
    void shouldLoadTheLibraryOnlyWithoutADirectory() {
        final Probes.GpuFiles seen = new TrialProcess(scenario("good"), LONG).run(null);
        assertTrue(seen.library().available());
        assertEquals(CuFileMode.UNKNOWN, seen.mode());
        assertEquals("", seen.failure());
    }

    @Test
    void shouldNameSignalAndPlaceWhenItCrashes() {
        final Probes.GpuFiles seen = run("crash");
        assertTrue(seen.library().available());
        assertTrue(seen.failure().startsWith("the process that tried it ended with status 1: SIGSEGV in "),
            seen.failure());
        assertEquals(CuFileMode.UNKNOWN, seen.mode());
        assertEquals(2, seen.pool().size());
    }

    @Test
    void shouldNameTheStatusWhenNothingElseIsKnown() {
        assertEquals("the process that tried it ended with status 134 (signal 6)", run("halt").failure());
    }

    @Test
    void shouldStopItWhenItHangs() {
        // Long enough for a JVM to start and to say how far it came, on a busy machine too.
        final Probes.GpuFiles seen = new TrialProcess(scenario("hang"), Duration.ofSeconds(5)).run(dir);
        assertTrue(seen.failure().isEmpty() || seen.failure().equals(
            "the process that tried it was still at it after 5 s and was stopped"), seen.failure());
        assertFalse(seen.failure().isEmpty() && seen.library().available());
    }

    @Test
    void shouldAddWhatTheLogSaysWhenTheLibraryRefuses() {
        final Probes.GpuFiles seen = run("refuse");
        assertEquals("cuFileHandleRegister failed; cuFile's log says: cufio-fs:77 udev property not found: ID_FS_USAGE"
            + " / cufio:331 second", seen.failure());
        assertEquals(5027, seen.code());
    }

    @Test
    void shouldSayThatItDiedBeforeAnythingWasKnown() {
        assertEquals("it could not be loaded: the process that tried it ended without a word",
            run("silent").library().reason());
        final Probes.GpuFiles none = new TrialProcess(List.of(dir + "/no-such-java"), LONG).run(dir);
        assertFalse(none.library().available());
        assertTrue(none.library().reason().contains("no process could be started"), none.library().reason());
        final String unknown = new TrialProcess(List.of(TrialProcess.javaCommand(Actor.class).getFirst(),
            "-XX:+NoSuchFlagAtAll"), LONG).run(dir).library().reason();
        assertTrue(unknown.contains("ended with status 1; it said: Unrecognized VM option"), unknown);
    }

    @Test
    void shouldSayOfThisMachineWhatTheBindingsSay() {
        final Probes.GpuFiles seen = TrialProcess.likeThis().run(dir);
        assertEquals(CuFile.availability().available(), seen.library().available());
        assertEquals(CuFile.availability().reason(), seen.library().reason());
    }
}
