package io.kvtier.store.storage.shared;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** This host, as the kernel describes it. <b>Threading:</b> stateless. */
public final class SystemHost implements SharedDiskHealth.Host {
    private static final String LIMIT = "Max open files";

    /** This host. */
    public SystemHost() {
        // Nothing is kept.
    }

    /**
     * What the host calls itself.
     *
     * @return its name, as the kernel has it; empty when that is not told.
     */
    public static String name() {
        return line("/proc/sys/kernel/hostname");
    }

    /**
     * What tells the host from all others, and stays when it starts again.
     *
     * @return {@code machine-} and the number of its installation, or {@code host-} and its name where there is none,
     *     as in many containers.
     */
    public static String id() {
        final String machine = line("/etc/machine-id");
        return machine.isEmpty() ? "host-" + name() : "machine-" + machine;
    }

    private static String line(final String file) {
        try (Stream<String> lines = Files.lines(Path.of(file), StandardCharsets.ISO_8859_1)) {
            return lines.findFirst().orElse("").strip();
        } catch (final IOException | UncheckedIOException e) {
            return "";
        }
    }

    @Override
    public String fileSystem(final Path folder) throws IOException {
        return Files.getFileStore(folder).type();
    }

    @Override
    public long openFiles() {
        try {
            for (final String line : Files.readAllLines(Path.of("/proc/self/limits"), StandardCharsets.ISO_8859_1)) {
                if (line.startsWith(LIMIT)) {
                    final String soft = line.substring(LIMIT.length()).strip().split("\\s+")[0];
                    return soft.equals("unlimited") ? Long.MAX_VALUE : Long.parseLong(soft);
                }
            }
        } catch (final IOException | NumberFormatException e) {
            return -1;
        }
        return -1;
    }
}
