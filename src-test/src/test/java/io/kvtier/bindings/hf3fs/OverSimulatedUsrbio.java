package io.kvtier.bindings.hf3fs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.SimulatedUsrbio;
import io.kvtier.transport.Closings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * The owners over a simulated library. After each test what it kept is closed, and then nothing may be left: no native
 * resource, nothing of the library's, no name of shared memory, and no problem.
 */
@ExtendWith(LeakCheck.class)
abstract class OverSimulatedUsrbio {
    @TempDir
    Path directory;

    SimulatedUsrbio simulated;
    Usrbio usrbio;
    private final Closings open = new Closings();
    private Map<NativeTag, NativeResources.Usage> before;

    @BeforeEach
    final void begin() {
        simulated = new SimulatedUsrbio(directory);
        usrbio = simulated.usrbio();
        before = NativeResources.snapshot();
    }

    final <T> T keep(final T thing, final Consumer<? super T> closing) {
        return open.keep(thing, closing);
    }

    /** A file on the simulated 3FS with pseudo-random content. */
    final Path fileOf(final String name, final int bytes) {
        try {
            return Files.write(simulated.mount().resolve(name), PatternBytes.of(bytes, bytes));
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A registered file, open for both directions. */
    final Hf3fsFile registered(final Path path) {
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.CREATE)) {
            return keep(Hf3fsFile.register(usrbio, file), Hf3fsFile::close);
        }
    }

    /** What of a kind there is that this test made; others may have left something on purpose. */
    final NativeResources.Usage made(final NativeTag tag) {
        final NativeResources.Usage none = new NativeResources.Usage(0, 0);
        final NativeResources.Usage then = before.getOrDefault(tag, none);
        final NativeResources.Usage now = NativeResources.snapshot().getOrDefault(tag, none);
        return new NativeResources.Usage(now.handles() - then.handles(), now.bytes() - then.bytes());
    }

    final String mount() {
        return simulated.mount().toString();
    }

    @AfterEach
    final void end() {
        open.close();
        try {
            assertEquals(List.of(), simulated.problems());
            assertEquals(List.of(), simulated.links());
            assertEquals(0, simulated.live());
        } finally {
            simulated.close();
        }
    }
}
