package io.kvtier.kit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A shared file system of this host alone that is mounted twice, as two nodes would see it: what one writes comes to
 * the other through the servers, and each mount has caches of its own. Only root can mount; elsewhere, and without the
 * programs, the test is skipped visibly.
 */
public abstract class SharedMounts implements AutoCloseable {
    private final Path directory;

    SharedMounts(final Path directory) {
        this.directory = directory;
    }

    /** The folder of configurations, data and logs. */
    final Path directory() {
        return directory;
    }

    /** Where one node sees it. */
    public final Path first() {
        return directory.resolve("first");
    }

    /** Where another node sees it. */
    public final Path second() {
        return directory.resolve("second");
    }

    /**
     * The first words of a command that sees one of the mounts at a place where others see another one, as the nodes of
     * a cluster do: in a mount namespace of its own.
     *
     * @param mount {@link #first()} or {@link #second()}.
     * @param at    a folder.
     * @return words, to be followed by those of the command.
     */
    public static List<String> seenAt(final Path mount, final Path at) {
        return List.of("unshare", "--mount", "sh", "-c", "mount --bind \"$0\" \"$1\" && shift && exec \"$@\"",
            mount.toString(), at.toString());
    }

    /** Ends the process that holds the data, without a word; both mounts stay, and have nobody behind them. */
    public abstract void killServer();

    @Override
    public abstract void close();

    final void createFolders(final List<String> names) throws IOException {
        for (final String name : names) {
            Files.createDirectories(directory.resolve(name));
        }
    }

    static void awaitMounted(final Path at, final ServerProcess process) {
        Threads.awaitUntil(() -> isMounted(at), () -> process.failure("does not mount " + at));
    }

    static boolean isMounted(final Path at) {
        try {
            return Files.readAllLines(Path.of("/proc/self/mounts")).stream()
                .anyMatch(line -> line.split(" ")[1].equals(at.toString()));
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Takes a mount away though files there may be open and nobody may answer behind it. */
    static void unmount(final Path at) {
        if (isMounted(at)) {
            try {
                Commands.run("umount", "-l", at.toString());
            } catch (final InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Goes on only where programs are and the caller may mount. */
    static void require(final String capability, final String packages, final List<String> programs)
        throws InterruptedException {
        for (final String program : programs) {
            NotExercised.require(capability, Commands.run("which", program).code() == 0,
                program + " is not here; Debian's packages are " + packages);
        }
        NotExercised.require(capability, Commands.run("id", "-u").output().strip().equals("0"),
            "only root can mount");
        NotExercised.require(capability, Files.exists(Path.of("/dev/fuse")), "there is no /dev/fuse");
    }
}
