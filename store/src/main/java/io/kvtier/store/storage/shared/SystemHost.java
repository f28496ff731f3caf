package io.kvtier.store.storage.shared;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** This host, as the kernel describes it. <b>Threading:</b> stateless. */
public final class SystemHost implements SharedDiskHealth.Host {
    private static final String LIMIT = "Max open files";

    /** This host. */
    public SystemHost() {
        // Nothing is kept.
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
