package io.kvtier.transport.file;

import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.NotExercised;
import java.io.IOException;
import java.nio.file.Files;
import org.junit.jupiter.api.BeforeEach;

class DirectPosixTransportTest extends PosixTransportContract {
    @Override
    boolean direct() {
        return true;
    }

    @Override
    int descriptors() {
        return 2;
    }

    @BeforeEach
    void requireDirectIo() throws IOException {
        Files.write(path("probe"), new byte[1]);
        try (PosixFile probe = PosixFile.open(path("probe").toString(), OpenMode.READ_WRITE_DIRECT)) {
            NotExercised.require("direct-io", probe.alignment() > 1, "the probe is not aligned");
        } catch (final ErrnoException e) {
            NotExercised.require("direct-io", false, "the file system of the temporary directory: " + e.getMessage());
        }
    }
}
