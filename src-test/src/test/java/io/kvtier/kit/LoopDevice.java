package io.kvtier.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;

/** A block device over a file, where a test may make one: as root. Skips the test visibly elsewhere. */
public final class LoopDevice implements AutoCloseable {
    private final Path path;

    private LoopDevice(final Path path) {
        this.path = path;
    }

    /** A device of as many bytes as a file has. */
    public static LoopDevice of(final Path file) throws InterruptedException {
        final Commands.Result result = Commands.run("losetup", "--find", "--show", file.toString());
        NotExercised.require("loop-device", result.code() == 0, "code " + result.code() + ", "
            + result.output().strip());
        return new LoopDevice(Path.of(result.output().strip()));
    }

    /** Where it is. */
    public Path path() {
        return path;
    }

    @Override
    public void close() {
        try {
            final Commands.Result result = Commands.run("losetup", "--detach", path.toString());
            assertEquals(0, result.code(), result::output);
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(path + " may still be there", e);
        }
    }
}
