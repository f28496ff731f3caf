package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The launcher on machines made up of a few scripts: a java that only says its version, and a mvn that only logs. */
final class LauncherTest {
    private static final List<String> TOOLS =
        List.of("flock", "mkdir", "bash", "cat", "dirname", "find", "mktemp", "readlink", "rm");
    private static final String FLAGS = """
        --enable-native-access=ALL-UNNAMED
        --add-exports
        java.base/jdk.internal.misc=ALL-UNNAMED
        """;
    private static final Instant LONG_AGO = Instant.parse("2020-01-01T00:00:00Z");

    @TempDir
    private Path machine;
    private Path root;
    private Path path;
    private Path installed;
    private final Map<String, String> environment = new HashMap<>();

    private record Outcome(int status, String out, String err) {
    }

    @BeforeEach
    void setUp() throws IOException {
        path = Files.createDirectory(machine.resolve("path"));
        installed = Files.createDirectory(machine.resolve("jvm"));
        root = Files.createDirectory(machine.resolve("checkout"));
        for (final String tool : TOOLS) {
            final Path real = Path.of("/usr/bin", tool);
            script(path.resolve(tool), "exec " + (Files.exists(real) ? real : Path.of("/bin", tool)) + " \"$@\"\n");
        }
        Files.copy(Path.of(System.getProperty("kvtier.root"), "kvtier"), root.resolve("kvtier"));
        source(root.resolve("pom.xml"));
        for (final String module : List.of("bindings", "alloc", "transport", "store")) {
            source(root.resolve(module).resolve("pom.xml"));
            source(root.resolve(module).resolve("src/main/java/Some.java"));
        }
        environment.put("PATH", path.toString());
        environment.put("KVTIER_JVM_DIR", installed.toString());
        environment.put("TMPDIR", machine.toString());
    }

    private static void source(final Path file) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, "");
        for (Path one = file; one.getNameCount() > file.getNameCount() - 4; one = one.getParent()) {
            Files.setLastModifiedTime(one, FileTime.from(LONG_AGO));
        }
    }

    private static void script(final Path file, final String body) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, "#!/bin/bash\n" + body);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private static void java(final Path home, final String version) throws IOException {
        script(home.resolve("bin/java"), "if [[ $1 == -version ]]; then echo 'openjdk version \"" + version
            + "\" 2025-01-01' >&2; else echo \"" + home.getFileName() + "\"; printf '%s\\n' \"$@\"; fi\n");
    }

    private Path jar(final FileTime time) throws IOException {
        final Path jar = root.resolve("store/target/kvtier-store-0.1.0-cli.jar");
        Files.createDirectories(jar.getParent());
        Files.writeString(jar, "");
        Files.setLastModifiedTime(jar, time);
        return jar;
    }

    private Path freshJar() throws IOException {
        return jar(FileTime.from(Instant.now()));
    }

    private Process start(final Path script, final String name, final String... arguments) throws IOException {
        final List<String> command = new ArrayList<>(List.of(script.toString()));
        command.addAll(List.of(arguments));
        final ProcessBuilder builder = new ProcessBuilder(command).directory(machine.toFile())
            .redirectOutput(machine.resolve(name + ".out").toFile())
            .redirectError(machine.resolve(name + ".err").toFile());
        builder.environment().clear();
        builder.environment().putAll(environment);
        final Process process = builder.start();
        process.getOutputStream().close();
        return process;
    }

    private Outcome end(final Process process, final String name) throws IOException, InterruptedException {
        assertTrue(process.waitFor(60, TimeUnit.SECONDS), "the launcher did not end");
        return new Outcome(process.exitValue(), Files.readString(machine.resolve(name + ".out")),
            Files.readString(machine.resolve(name + ".err")));
    }

    private Outcome launch(final Path script, final String... arguments) throws IOException, InterruptedException {
        return end(start(script, "one", arguments), "one");
    }

    private Outcome launch(final String... arguments) throws IOException, InterruptedException {
        return launch(root.resolve("kvtier"), arguments);
    }

    @Test
    void shouldSayWhatItLookedAtWhenEveryJavaIsTooOld() throws IOException, InterruptedException {
        java(machine.resolve("old"), "17.0.15");
        Files.createSymbolicLink(path.resolve("java"), machine.resolve("old/bin/java"));
        java(installed.resolve("jdk-8"), "1.8.0_402");
        java(installed.resolve("jdk-21"), "21.0.2");
        environment.put("JAVA_HOME", "");
        final Outcome outcome = launch("demo");
        assertEquals(1, outcome.status());
        assertEquals("", outcome.out());
        assertTrue(outcome.err().contains("needs a JDK 22 or newer and found none"), outcome.err());
        assertTrue(outcome.err().contains("JAVA_HOME: not set"), outcome.err());
        assertTrue(outcome.err().contains("PATH: " + path.resolve("java") + " is version 17"), outcome.err());
        assertTrue(outcome.err().contains(installed + "/jdk-21/bin/java is version 21"), outcome.err());
        assertTrue(outcome.err().contains("JAVA_HOME=/path/to/jdk kvtier"), outcome.err());
    }

    @Test
    void shouldSayWhatItLookedAtWhenThereIsNoJavaAtAll() throws IOException, InterruptedException {
        environment.put("JAVA_HOME", "/no/such/jdk");
        final Outcome outcome = launch("demo");
        assertEquals(1, outcome.status());
        assertTrue(outcome.err().contains("JAVA_HOME: no java that runs at /no/such/jdk/bin/java"), outcome.err());
        assertTrue(outcome.err().contains("PATH: no java"), outcome.err());
        assertTrue(outcome.err().contains(installed + ": no JDK"), outcome.err());
    }

    @Test
    void shouldPreferJavaHomeThenThePathThenTheNewestInstalled() throws IOException, InterruptedException {
        freshJar();
        java(installed.resolve("jdk-9"), "9.0.1");
        java(installed.resolve("jdk-24"), "24.0.1");
        java(installed.resolve("jdk-23"), "23.0.1");
        assertTrue(launch("demo").out().startsWith("jdk-24\n"));
        java(machine.resolve("on-path"), "22");
        Files.createSymbolicLink(path.resolve("java"), machine.resolve("on-path/bin/java"));
        assertTrue(launch("demo").out().startsWith("on-path\n"));
        java(machine.resolve("home"), "25-ea");
        environment.put("JAVA_HOME", machine.resolve("home").toString());
        assertTrue(launch("demo").out().startsWith("home\n"));
        java(machine.resolve("home"), "21.0.1");
        assertTrue(launch("demo").out().startsWith("on-path\n"));
    }

    @Test
    void shouldReadTheVersionFromTheFileThatAJdkHas() throws IOException, InterruptedException {
        freshJar();
        java(installed.resolve("jdk"), "1.2");
        Files.writeString(installed.resolve("jdk/release"), "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"25.0.3\"\n");
        assertTrue(launch("demo").out().startsWith("jdk\n"));
    }

    @Test
    void shouldPassTheFlagsThatTheJavaKnowsAndTheUsersOptions() throws IOException, InterruptedException {
        final Path jar = freshJar();
        java(installed.resolve("jdk"), "22.0.2");
        assertEquals("jdk\n" + FLAGS + "-jar\n" + jar + "\nreplay\na b\n", launch("replay", "a b").out());
        java(installed.resolve("jdk"), "23");
        environment.put("JAVA_OPTS", "-Xmx1g \n -Dx=y\n");
        final Outcome outcome = launch();
        assertEquals("jdk\n" + FLAGS + "--sun-misc-unsafe-memory-access=allow\n-Xmx1g\n-Dx=y\n-jar\n" + jar + "\n",
            outcome.out());
        assertEquals("", outcome.err());
    }

    @Test
    void shouldGiveAMastersHeapShortHeadersAndLargePagesWhereTheyAreToBeHad() throws IOException, InterruptedException {
        final Path pages = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");
        final String large = Files.exists(pages) && !Files.readString(pages).contains("[never]")
            ? "-XX:+UseTransparentHugePages\n" : "";
        final Path jar = freshJar();
        environment.put("JAVA_OPTS", "-XX:-UseCompactObjectHeaders");
        java(installed.resolve("jdk"), "25");
        assertEquals("jdk\n" + FLAGS + "--sun-misc-unsafe-memory-access=allow\n-XX:+UseCompactObjectHeaders\n" + large
            + "-XX:-UseCompactObjectHeaders\n-jar\n" + jar + "\nmaster\n", launch("master").out());
        environment.remove("JAVA_OPTS");
        java(installed.resolve("jdk"), "24");
        assertEquals("jdk\n" + FLAGS + "--sun-misc-unsafe-memory-access=allow\n" + large + "-jar\n" + jar
            + "\nbench\nrpc\n", launch("bench", "rpc").out());
        assertFalse(launch("node").out().contains("-XX"), "only where there are millions of objects");
    }

    @Test
    void shouldWorkThroughSymbolicLinks() throws IOException, InterruptedException {
        final Path jar = freshJar();
        java(installed.resolve("jdk"), "25");
        Files.createSymbolicLink(machine.resolve("first"), Path.of("checkout/kvtier"));
        Files.createSymbolicLink(path.resolve("second"), machine.resolve("first"));
        assertTrue(launch(path.resolve("second"), "demo").out().endsWith("-jar\n" + jar + "\ndemo\n"));
    }

    @Test
    void shouldBuildWhatIsMissingOrStale() throws IOException, InterruptedException {
        java(installed.resolve("jdk"), "25");
        script(path.resolve("mvn"), "echo \"$JAVA_HOME $PWD $*\" >>" + machine.resolve("built")
            + "\n: >store/target/kvtier-store-0.1.0-cli.jar\n");
        Files.createDirectories(root.resolve("store/target"));
        final String built = installed.resolve("jdk") + " " + root
            + " -B -ntp -q -DskipTests -Dcheckstyle.skip=true -Dmaven.javadoc.skip=true -pl store -am package\n";
        final Outcome first = launch("demo");
        assertEquals(0, first.status(), first.err());
        assertTrue(first.err().startsWith("kvtier: building the command line"), first.err());
        assertEquals(built, Files.readString(machine.resolve("built")));
        assertEquals("", launch("demo").err(), "nothing to build");
        jar(FileTime.from(LONG_AGO.minusSeconds(60)));
        launch("demo");
        assertEquals(built + built, Files.readString(machine.resolve("built")));
        Files.delete(root.resolve("alloc/src/main/java/Some.java"));
        jar(FileTime.from(LONG_AGO.plusSeconds(60)));
        launch("demo");
        assertEquals(built + built + built, Files.readString(machine.resolve("built")), "a source was removed");
    }

    @Test
    void shouldBuildOnceWhenTwoAreStartedTogether() throws IOException, InterruptedException {
        java(installed.resolve("jdk"), "25");
        // The first build goes on until the second launcher has been started.
        script(path.resolve("mvn"), "echo built >>" + machine.resolve("built") + "\nwhile [[ ! -e "
            + machine.resolve("go") + " ]]; do :; done\n: >store/target/kvtier-store-0.1.0-cli.jar\n");
        final Process first = start(root.resolve("kvtier"), "first", "demo");
        while (!Files.exists(machine.resolve("built"))) {
            Thread.onSpinWait();
        }
        final Process second = start(root.resolve("kvtier"), "second", "demo");
        Files.createFile(machine.resolve("go"));
        assertEquals(0, end(first, "first").status());
        final Outcome other = end(second, "second");
        assertEquals(0, other.status(), other.err());
        assertEquals("built\n", Files.readString(machine.resolve("built")));
    }

    @Test
    void shouldShowTheBuildsOutputWhenItFails() throws IOException, InterruptedException {
        java(installed.resolve("jdk"), "25");
        script(path.resolve("mvn"), "echo 'cannot find symbol'; exit 1\n");
        final Outcome outcome = launch("demo");
        assertEquals(1, outcome.status());
        assertEquals("", outcome.out());
        assertTrue(outcome.err().contains("cannot find symbol"), outcome.err());
        assertTrue(outcome.err().contains("the build failed; its output is above and in " + machine), outcome.err());
    }

    @Test
    void shouldNameMavenWhenItIsMissing() throws IOException, InterruptedException {
        java(installed.resolve("jdk"), "25");
        final Outcome outcome = launch("demo");
        assertEquals(1, outcome.status());
        assertFalse(outcome.err().contains("building"), outcome.err());
        assertTrue(outcome.err().contains("there is no mvn on the PATH"), outcome.err());
        assertTrue(outcome.err().contains("apt-get install maven"), outcome.err());
    }
}
