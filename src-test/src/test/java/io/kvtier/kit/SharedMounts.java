package io.kvtier.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A shared file system of this host alone that is mounted twice, as two nodes would see it: what one writes comes to
 * the other through the servers, and each mount has caches of its own. Only root can mount; elsewhere, and without the
 * programs, the test is skipped visibly.
 */
public abstract class SharedMounts implements AutoCloseable {
    private static final int MIB = 1 << 20;

    private final Path directory;
    /** Where the servers keep what is written. */
    private final Path data;
    /** The processes behind the mounts. */
    private final Map<Path, ServerProcess> serving = new HashMap<>();

    SharedMounts(final Path directory, final Path data) {
        this.directory = directory;
        this.data = data;
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
     * Mounts it once more, for a case that does harm to its mount.
     *
     * @param name of the mount, which nobody has taken.
     * @return where it is seen.
     * @throws IOException when it cannot be mounted.
     */
    public final Path mountMore(final String name) throws IOException {
        createFolders(List.of(name));
        final Path at = directory.resolve(name);
        mountServed(at);
        return at;
    }

    /**
     * The first words of a command that sees one of the mounts at a place where others see another one, as the nodes of
     * a cluster do: in a mount namespace of its own.
     *
     * @param mount    one of the mounts, or any folder.
     * @param at       a folder.
     * @param readOnly whether nothing can be written there.
     * @return words, to be followed by those of the command.
     */
    public static List<String> seenAt(final Path mount, final Path at, final boolean readOnly) {
        return List.of("unshare", "--mount", "sh", "-c", "mount --bind " + (readOnly ? "-o ro " : "")
            + "\"$0\" \"$1\" && shift && exec \"$@\"", mount.toString(), at.toString());
    }

    /** Takes a mount away from a process that {@linkplain #seenAt sees} it, though it has files open there. */
    public static void detach(final long pid, final Path at) throws InterruptedException {
        require(within(pid, List.of("umount", "-l", at.toString())));
    }

    /** Shows a mount again to a process from which it was {@linkplain #detach taken}. */
    public static void attach(final long pid, final Path mount, final Path at) throws InterruptedException {
        require(within(pid, List.of("mount", "--bind", mount.toString(), at.toString())));
    }

    /** Mounts anew what a process sees, when that of before was taken away there; a process of its own serves it. */
    public final void mountAnew(final long pid, final Path at) throws IOException {
        final Path log = directory.resolve("anew-" + pid + ".out");
        final ServerProcess process = new ServerProcess(log, within(pid, mountCommand(at, log)));
        serving.put(log, process);
        awaitMounted(Path.of("/proc/" + pid + "/mounts"), at, process);
    }

    /** Ends the process behind a mount, without a word: whoever sees that mount, anywhere, has nothing but errors. */
    public final void killMount(final Path mount) {
        serving.get(mount).kill();
    }

    /** Ends the process that holds the data, without a word; both mounts stay, and have nobody behind them. */
    public abstract void killServer();

    /**
     * Takes the room away that the servers have for data, which must be on a tmpfs that nobody else needs. Returns when
     * no mount sees any.
     */
    public final void fill() throws IOException {
        assertEquals("tmpfs", Files.getFileStore(data).type(), "a disk of this host is not to be filled");
        try (OutputStream filler = Files.newOutputStream(filler())) {
            final byte[] some = new byte[MIB];
            for (long left = left(); left > 0; left = left()) {
                filler.write(some, 0, (int) Math.min(MIB, left));
            }
        }
        roomChanged();
        for (final Path mount : List.of(first(), second())) {
            Threads.awaitUntil(() -> mount.toFile().getUsableSpace() <= MIB, () -> mount + " has room");
        }
    }

    /** Gives it back. Returns when all mounts have it. */
    public final void makeRoom() throws IOException {
        Files.delete(filler());
        roomChanged();
        for (final Path mount : List.of(first(), second())) {
            // A brick of GlusterFS tells the room that there is, and refuses writes for some seconds more.
            Threads.awaitUntil(() -> mount.toFile().getUsableSpace() > MIB && isWritten(mount.resolve("room")),
                () -> mount + " has no room");
        }
    }

    private static boolean isWritten(final Path file) {
        try {
            Files.write(file, new byte[1]);
            return true;
        } catch (final IOException e) {
            return false;
        } finally {
            file.toFile().delete();
        }
    }

    private long left() {
        return data.toFile().getUsableSpace() - leftWhenFull();
    }

    private Path filler() {
        return data.resolveSibling("filler");
    }

    /** Bytes of the file system of the data that count for nothing. */
    abstract long leftWhenFull();

    /** Lets the servers know now. */
    abstract void roomChanged() throws IOException;

    /** What mounts it, in the foreground. */
    abstract List<String> mountCommand(Path at, Path log);

    /** Mounts it here. */
    final ServerProcess mount(final Path at) throws IOException {
        final Path log = directory.resolve(at.getFileName() + ".out");
        final ServerProcess process = new ServerProcess(log, mountCommand(at, log));
        serving.put(at, process);
        awaitMounted(Path.of("/proc/self/mounts"), at, process);
        return process;
    }

    /** Mounts it here, and returns when it can be used there. */
    abstract void mountServed(Path at) throws IOException;

    /** Takes all mounts away, and ends the processes behind them. */
    final void unmountAll() {
        serving.keySet().forEach(SharedMounts::unmount);
        serving.values().forEach(ServerProcess::close);
    }

    private static List<String> within(final long pid, final List<String> command) {
        final List<String> words = new ArrayList<>(List.of("nsenter", "--mount=/proc/" + pid + "/ns/mnt"));
        words.addAll(command);
        return words;
    }

    private static void require(final List<String> command) throws InterruptedException {
        final Commands.Result result = Commands.run(command);
        assertEquals(0, result.code(), result::output);
    }

    @Override
    public abstract void close();

    final void createFolders(final List<String> names) throws IOException {
        for (final String name : names) {
            Files.createDirectories(directory.resolve(name));
        }
    }

    private static void awaitMounted(final Path table, final Path at, final ServerProcess process) {
        Threads.awaitUntil(() -> isMounted(table, at), () -> process.failure("does not mount " + at));
    }

    static boolean isMounted(final Path at) {
        return isMounted(Path.of("/proc/self/mounts"), at);
    }

    private static boolean isMounted(final Path table, final Path at) {
        try {
            return Files.readAllLines(table).stream().anyMatch(line -> line.split(" ")[1].equals(at.toString()));
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
