package io.kvtier.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;

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
