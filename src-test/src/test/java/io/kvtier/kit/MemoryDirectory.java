package io.kvtier.kit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDirFactory;

/**
 * Puts a test's directory on a memory file system where there is one. For tests that open and sync files thousands of
 * times and do not need that to reach a disk.
 */
public final class MemoryDirectory implements TempDirFactory {
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");

    @Override
    public Path createTempDirectory(final AnnotatedElementContext element, final ExtensionContext context)
        throws IOException {
        return create();
    }

    /** A new directory; whoever calls deletes it. */
    public static Path create() throws IOException {
        return Files.isWritable(SHARED_MEMORY) ? Files.createTempDirectory(SHARED_MEMORY, "kvtier")
            : Files.createTempDirectory("kvtier");
    }
}
