package io.kvtier.kit;

import io.kvtier.bindings.cufile.CuFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Where tests of GPUDirect Storage may write, if they were asked for. */
public final class GdsFolder {
    private GdsFolder() {
    }

    /**
     * A new folder in {@code MOONCAKE_GDS_TEST_PATH}, by default that of temporary files; skips the test where it was
     * not asked for or cannot be had.
     */
    public static Path require() throws IOException {
        final String path = System.getenv("MOONCAKE_GDS_TEST_PATH");
        NotExercised.require("gds", "1".equals(System.getenv("MOONCAKE_RUN_GDS_TEST")),
            "set MOONCAKE_RUN_GDS_TEST=1, and MOONCAKE_GDS_TEST_PATH to a folder of a disk");
        NotExercised.require("gds", CuFile.availability().available(), CuFile.availability().reason());
        return Files.createTempDirectory(Path.of(path == null ? System.getProperty("java.io.tmpdir") : path), "gds");
    }

    /** Removes a folder and the files in it. */
    public static void remove(final Path folder) throws IOException {
        if (folder != null) {
            try (var files = Files.list(folder)) {
                for (final Path file : files.toList()) {
                    Files.delete(file);
                }
            }
            Files.delete(folder);
        }
    }
}
