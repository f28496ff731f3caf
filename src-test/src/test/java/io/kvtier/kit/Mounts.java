package io.kvtier.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A file system that a test mounts, where it may: as root. Skips the test visibly elsewhere. */
public final class Mounts implements AutoCloseable {
    private static final String CAPABILITY = "mount";

    private final Path at;

    private Mounts(final Path at) {
        this.at = at;
    }

    /** Memory of a limited size. */
    public static Mounts tmpfs(final Path at, final long bytes) throws InterruptedException {
        return mount(CAPABILITY, at, "-t", "tmpfs", "-o", "size=" + bytes, "kvtier-test");
    }

    /** Memory in huge pages; how many there are is the system's matter. */
    public static Mounts hugetlbfs(final Path at) throws InterruptedException {
        return mount("hugetlbfs", at, "-t", "hugetlbfs", "kvtier-test");
    }

    /** A folder once more, where nothing can be written. */
    public static Mounts readOnly(final Path folder, final Path at) throws InterruptedException {
        return mount(CAPABILITY, at, "--bind", "-o", "ro", folder.toString());
    }

    /** An ext4 of a limited size. */
    public static Mounts ext4(final Path image, final Path at, final long bytes) throws IOException,
        InterruptedException {
        try (RandomAccessFile file = new RandomAccessFile(image.toFile(), "rw")) {
            file.setLength(bytes);
        }
        final String capability = "loop-mount";
        final Commands.Result made = Commands.run("mkfs.ext4", "-q", "-F", image.toString());
        NotExercised.require(capability, made.code() == 0, "code " + made.code() + ", " + made.output().strip());
        return mount(capability, at, "-o", "loop", image.toString());
    }

    private static Mounts mount(final String capability, final Path at, final String... words)
        throws InterruptedException {
        final List<String> command = new ArrayList<>(List.of("mount"));
        command.addAll(List.of(words));
        command.add(at.toString());
        final Commands.Result result = Commands.run(command);
        NotExercised.require(capability, result.code() == 0, "code " + result.code() + ", " + result.output().strip());
        return new Mounts(at);
    }

    /** Where it is mounted. */
    public Path at() {
        return at;
    }

    @Override
    public void close() {
        try {
            final Commands.Result result = Commands.run("umount", at.toString());
            assertEquals(0, result.code(), result::output);
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(at + " may still be mounted", e);
        }
    }
}
