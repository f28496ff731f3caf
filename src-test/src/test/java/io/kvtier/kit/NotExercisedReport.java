package io.kvtier.kit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.stream.Stream;
import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;

/**
 * Prints what the run could not exercise, once, when its launcher session ends; found as a service. Of a run in several
 * processes each adds to a file what was missing there, and prints what is missing so far: the last one names all.
 */
public final class NotExercisedReport implements LauncherSessionListener {
    /** Names the run, for its processes. */
    private static final String RUN = "kvtier.run";

    @Override
    public void launcherSessionClosed(final LauncherSession session) {
        final String run = System.getProperty(RUN);
        final List<String> lines = run == null ? NotExercised.lines()
            : together(Path.of("target", "not-exercised-" + run.replaceAll("[^0-9A-Za-z]", "") + ".txt"));
        lines.forEach(System.out::println);
    }

    private static List<String> together(final Path file) {
        final List<String> own = NotExercised.names();
        try {
            Files.createDirectories(file.getParent());
            // Appended in one write each, so that no process loses another's lines.
            Files.writeString(file, own.isEmpty() ? "" : String.join("\n", own) + "\n", StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
            try (Stream<String> all = Files.lines(file)) {
                return NotExercised.lines(all.distinct().sorted().toList());
            }
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
