package io.kvtier.store.cli;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeAccess;
import io.kvtier.bindings.cufile.CuFileMode;
import io.kvtier.bindings.cufile.PoolSlabs;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Runs {@link CuFileTrial} in a JVM of its own, like this one, for a bounded time, and turns what came of it into
 * words: also when it crashed or hung. It works in a folder that is gone afterwards, so that cuFile's log and the
 * JVM's own do not stay where the doctor was called; the log's first errors are kept in the answer.
 *
 * <p><b>Threading:</b> one thread. <b>Blocking:</b> for the time limit and some seconds at the most.
 */
final class TrialProcess {
    /** Opening the driver takes seconds, on a large machine more; a minute says that it hangs. */
    static final Duration LIMIT = Duration.ofSeconds(60);

    private static final String LOG = "cufile.log";
    private static final String ERROR = " ERROR ";
    private static final int MOST_ERRORS = 3;
    private static final Duration END_WAIT = Duration.ofSeconds(5);
    private static final int SIGNALLED = 128;
    private static final String FRAME = "# Problematic frame:";

    private final List<String> command;
    private final Duration limit;

    /**
     * A trial by another program.
     *
     * @param command its command line, to which the directory is added.
     * @param limit   how long it may take.
     */
    TrialProcess(final List<String> command, final Duration limit) {
        this.command = command;
        this.limit = limit;
    }

    /** The real one: this JVM's launcher, class path, module path and permissions. */
    static TrialProcess likeThis() {
        return new TrialProcess(javaCommand(CuFileTrial.class), LIMIT);
    }

    /** The words that start a class of this module in a JVM like this one. */
    static List<String> javaCommand(final Class<?> main) {
        final List<String> words = new ArrayList<>();
        words.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        // A crash is told in the output, where the doctor looks, and leaves nothing behind.
        words.addAll(List.of("-XX:+ErrorFileToStdout", "-XX:-CreateCoredumpOnCrash", "-Xmx256m",
            "--enable-native-access=" + nameOf(NativeAccess.class.getModule())));
        path("--class-path", System.getProperty("java.class.path"), words);
        path("--module-path", System.getProperty("jdk.module.path"), words);
        if (main.getModule().isNamed()) {
            words.addAll(List.of("--module", main.getModule().getName() + '/' + main.getName()));
        } else {
            words.add(main.getName());
        }
        return words;
    }

    private static String nameOf(final Module module) {
        return module.isNamed() ? module.getName() : "ALL-UNNAMED";
    }

    /** The child works in another folder: what is relative here would be elsewhere there. */
    private static void path(final String option, final String value, final List<String> words) {
        if (value != null && !value.isEmpty()) {
            words.add(option);
            words.add(Arrays.stream(value.split(File.pathSeparator)).filter(one -> !one.isEmpty())
                .map(one -> Path.of(one).toAbsolutePath().toString()).collect(Collectors.joining(File.pathSeparator)));
        }
    }

    /**
     * Runs it.
     *
     * @param directory where a file is read; null to load the library only.
     * @return what came of it.
     */
    Probes.GpuFiles run(final Path directory) {
        try {
            final Path work = Files.createTempDirectory(directory == null
                ? Path.of(System.getProperty("java.io.tmpdir")) : directory, ".kvtier-doctor-").toAbsolutePath();
            try {
                return run(work, directory != null);
            } finally {
                delete(work);
            }
        } catch (final IOException e) {
            return Probes.GpuFiles.untried(Availability.no("it was not tried, since no process could be started for"
                + " it: " + e.getMessage(), "start the doctor with the java command of a JDK or a Java runtime that"
                + " has one"));
        }
    }

    private Probes.GpuFiles run(final Path work, final boolean withFile) throws IOException {
        final Path output = work.resolve("output");
        final List<String> words = new ArrayList<>(command);
        if (withFile) {
            words.add(work.toString());
        }
        final ProcessBuilder builder = new ProcessBuilder(words).directory(work.toFile()).redirectErrorStream(true)
            .redirectOutput(output.toFile());
        builder.environment().computeIfPresent(CuFileChecks.SETTINGS_VARIABLE,
            (name, file) -> Path.of(file).toAbsolutePath().toString());
        final Process process = builder.start();
        process.getOutputStream().close();
        final String ending = endingOf(process);
        final List<String> lines = lines(output);
        return answer(lines, ending.isEmpty() ? "" : ending + crash(lines), errors(work));
    }

    /** How it ended when it did not end well; empty when it did. */
    private String endingOf(final Process process) {
        try {
            if (process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
                final int status = process.exitValue();
                return status == 0 ? "" : "the process that tried it ended with status " + status
                    + (status > SIGNALLED ? " (signal " + (status - SIGNALLED) + ')' : "");
            }
            process.destroyForcibly().waitFor(END_WAIT.toMillis(), TimeUnit.MILLISECONDS);
            return "the process that tried it was still at it after " + limit.toSeconds() + " s and was stopped";
        } catch (final InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            return "the process that tried it was stopped, since the doctor was interrupted";
        }
    }

    private static List<String> lines(final Path file) throws IOException {
        return new String(Files.readAllBytes(file), StandardCharsets.UTF_8).lines().toList();
    }

    /** Signal and place, if the JVM told of a crash. */
    private static String crash(final List<String> lines) {
        final int frame = lines.indexOf(FRAME);
        final String signal = lines.stream().filter(line -> line.startsWith("#  SIG")).findFirst()
            .map(line -> line.substring(1).strip().split(" ")[0]).orElse("");
        return frame < 0 || signal.isEmpty() || frame + 1 >= lines.size() ? ""
            : ": " + signal + " in " + lines.get(frame + 1).substring(1).strip();
    }

    /** The first errors of cuFile's log, which say more than its codes: the cause comes before what it leads to. */
    private static String errors(final Path work) throws IOException {
        final Path log = work.resolve(LOG);
        return !Files.isReadable(log) ? "" : lines(log).stream().filter(line -> line.contains(ERROR))
            .map(line -> line.substring(line.indexOf(ERROR) + ERROR.length()).strip()).distinct().limit(MOST_ERRORS)
            .collect(Collectors.joining(" / "));
    }

    private static Probes.GpuFiles answer(final List<String> lines, final String ending, final String logged) {
        final Map<String, String> said = new HashMap<>();
        for (final String line : lines) {
            if (line.startsWith(CuFileTrial.PREFIX)) {
                final String[] words = line.substring(CuFileTrial.PREFIX.length()).split(" ", 2);
                said.put(words[0], words.length > 1 ? words[1] : "");
            }
        }
        if (!said.containsKey(CuFileTrial.LIBRARY)) {
            return Probes.GpuFiles.untried(Availability.no("it could not be loaded: " + (ending.isEmpty()
                ? "the process that tried it ended without a word" : ending) + firstWords(lines), "try another version"
                + " of libcufile and of NVIDIA's driver; kvtier works without"));
        }
        final boolean here = CuFileTrial.YES.equals(said.get(CuFileTrial.LIBRARY));
        final Availability library = here ? Availability.yes(said.get(CuFileTrial.REASON))
            : Availability.no(said.get(CuFileTrial.REASON), said.getOrDefault(CuFileTrial.REMEDY, ""));
        final String failure = Stream.of(said.getOrDefault(CuFileTrial.FAILURE, ""), ending)
            .filter(one -> !one.isEmpty()).collect(Collectors.joining("; "));
        if (!here || failure.isEmpty() && !said.containsKey(CuFileTrial.MODE)) {
            return Probes.GpuFiles.untried(library);
        }
        return new Probes.GpuFiles(library,
            CuFileMode.valueOf(said.getOrDefault(CuFileTrial.MODE, CuFileMode.UNKNOWN.name())),
            failure.isEmpty() || logged.isEmpty() ? failure : failure + "; cuFile's log says: " + logged,
            Integer.parseInt(said.getOrDefault(CuFileTrial.CODE, "0")), pool(said.getOrDefault(CuFileTrial.POOL, "")));
    }

    /** What a process that said nothing of use said instead: a JVM that did not start tells why. */
    private static String firstWords(final List<String> lines) {
        return lines.stream().filter(line -> !line.isBlank() && !line.startsWith("#")).findFirst()
            .map(line -> "; it said: " + line.strip()).orElse("");
    }

    private static List<PoolSlabs> pool(final String text) {
        return Arrays.stream(text.split(",")).filter(one -> !one.isEmpty()).map(one -> one.split("x"))
            .map(one -> new PoolSlabs(Long.parseLong(one[0]), Long.parseLong(one[1]))).toList();
    }

    private static void delete(final Path folder) throws IOException {
        try (Stream<Path> all = Files.walk(folder)) {
            for (final Path one : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(one);
            }
        }
    }
}
