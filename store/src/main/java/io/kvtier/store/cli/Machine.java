package io.kvtier.store.cli;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The files in which a machine describes itself ({@code /proc}, {@code /sys}, {@code /run}, {@code /etc}), below a root
 * that a test puts elsewhere, and the environment.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param root        where {@code /} is.
 * @param environment variables by name.
 */
record Machine(Path root, Map<String, String> environment) {
    private static final String LIMITS = "/proc/self/limits";
    private static final String UNLIMITED = "unlimited";

    /** This machine. */
    static Machine here() {
        return new Machine(Path.of("/"), System.getenv());
    }

    /** Where a file with an absolute path lies below the root. */
    Path at(final String path) {
        return root.resolve(path.replaceFirst("^/+", ""));
    }

    boolean exists(final String path) {
        return Files.exists(at(path));
    }

    /** The stripped text of a file; empty when there is none, or none that may be read. */
    String text(final String path) {
        try {
            // Latin-1 decodes whatever is there; a command line may hold any bytes.
            return Files.readString(at(path), StandardCharsets.ISO_8859_1).strip();
        } catch (final IOException e) {
            return "";
        }
    }

    /** The names in a directory, sorted; empty when there is none. */
    List<String> names(final String path) {
        try (Stream<Path> entries = Files.list(at(path))) {
            return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
        } catch (final IOException e) {
            return List.of();
        }
    }

    /** A variable of the environment; empty when it is not set. */
    String variable(final String name) {
        return environment.getOrDefault(name, "");
    }

    /** The soft limit of a resource of this process: {@link Long#MAX_VALUE} for none, -1 when nothing says. */
    long limit(final String name) {
        for (final String line : text(LIMITS).lines().toList()) {
            if (line.startsWith(name + ' ')) {
                final String soft = line.substring(name.length()).strip().split("\\s+")[0];
                return soft.equals(UNLIMITED) ? Long.MAX_VALUE : number(soft);
            }
        }
        return -1;
    }

    /** A number as the kernel writes it; -1 for anything else. */
    static long number(final String text) {
        return text.matches("\\d{1,18}") ? Long.parseLong(text) : -1;
    }
}
