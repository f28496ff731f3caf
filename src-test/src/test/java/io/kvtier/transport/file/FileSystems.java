package io.kvtier.transport.file;

import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.NotExercised;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What tests need of the file system of their temporary directory. */
final class FileSystems {
    private FileSystems() {
    }

    /** Goes on only where files can be read and written past the page cache. */
    static void requireDirectIo(final Path probe) throws IOException {
        Files.write(probe, new byte[1]);
        try (PosixFile file = PosixFile.open(probe.toString(), OpenMode.READ_WRITE_DIRECT)) {
            NotExercised.require("direct-io", file.alignment() > 1, "the probe is not aligned");
        } catch (final ErrnoException e) {
            NotExercised.require("direct-io", false, "the file system of the temporary directory: " + e.getMessage());
        }
    }
}
