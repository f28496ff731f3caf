package io.kvtier.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * MooseFS of one master and one chunk server, in a network namespace of its own, since its chunk server refuses a
 * master at a loopback address. What it is here for: what one mount has written, direct or not, another does not see
 * before it is synced.
 */
public final class MooseMounts extends SharedMounts {
    private static final String ADDRESS = "198.51.100.1";
    private static final String MASTER = """
        WORKING_USER = root
        WORKING_GROUP = root
        DATA_PATH = %1$s/data
        EXPORTS_FILENAME = %1$s/exports.cfg
        MATOML_LISTEN_HOST = %2$s
        MATOCS_LISTEN_HOST = %2$s
        MATOCL_LISTEN_HOST = %2$s
        """;
    private static final String CHUNKS = """
        WORKING_USER = root
        WORKING_GROUP = root
        DATA_PATH = %1$s/chunks
        HDD_CONF_FILENAME = %1$s/hdd.cfg
        HDD_LEAVE_SPACE_DEFAULT = 128MiB
        MASTER_HOST = %2$s
        BIND_HOST = %2$s
        CSSERV_LISTEN_HOST = %2$s
        """;

    /** What a chunk server keeps free: the configuration's 128 MiB, and less than a chunk, of 64 MiB, is no room. */
    private static final long LEFT_WHEN_FULL = 128L << 20;

    /** Several may run at a time, each in a network of its own. */
    private static final AtomicInteger STARTED = new AtomicInteger();

    private final String namespace;
    private final boolean patient;
    private ServerProcess master;
    private ServerProcess chunks;

    private MooseMounts(final Path directory, final Path data, final String namespace, final boolean patient) {
        super(directory, data);
        this.namespace = namespace;
        this.patient = patient;
    }

    /**
     * Starts it.
     *
     * @param directory an empty folder on a disk with room.
     * @return it, mounted twice.
     * @throws IOException          when a file cannot be written or a program not started.
     * @throws InterruptedException when interrupted.
     */
    public static MooseMounts start(final Path directory) throws IOException, InterruptedException {
        return start(directory, directory.resolve("hdd"), true);
    }

    /**
     * Starts it with its data elsewhere, on a file system that can be filled. Its mounts say of a full one that it is
     * full in a second, not in two minutes, as they do otherwise.
     *
     * @param directory an empty folder.
     * @param data      the folder of the data, on a file system of 256 MiB or more.
     * @return it, mounted twice.
     * @throws IOException          when a file cannot be written or a program not started.
     * @throws InterruptedException when interrupted.
     */
    public static MooseMounts start(final Path directory, final Path data) throws IOException, InterruptedException {
        return start(directory, data, false);
    }

    private static MooseMounts start(final Path directory, final Path data, final boolean patient)
        throws IOException, InterruptedException {
        final String capability = "moosefs";
        require(capability, "moosefs-master, moosefs-chunkserver and moosefs-client",
            List.of("mfsmaster", "mfschunkserver", "mfsmount", "ip", "nsenter"));
        final String namespace = "kvtier" + ProcessHandle.current().pid() + '-' + STARTED.incrementAndGet();
        final Commands.Result made = Commands.run("ip", "netns", "add", namespace);
        NotExercised.require(capability, made.code() == 0, "no network namespace: " + made.output().strip());
        final MooseMounts mounts = new MooseMounts(directory, data, namespace, patient);
        try {
            Files.createDirectories(data);
            Files.writeString(directory.resolve("hdd.cfg"), data + "\n");
            mounts.start();
            return mounts;
        } catch (final IOException | RuntimeException | InterruptedException | AssertionError e) {
            mounts.close();
            throw e;
        }
    }

    private void start() throws IOException, InterruptedException {
        ip("link", "set", "lo", "up");
        ip("addr", "add", ADDRESS + "/32", "dev", "lo");
        createFolders(List.of("data", "chunks", "first", "second"));
        final Path at = directory();
        // Without these bytes it takes the missing metadata for a loss and does not start.
        Files.writeString(at.resolve("data/metadata.mfs"), "MFSM NEW");
        Files.writeString(at.resolve("exports.cfg"), "* / rw,alldirs,maproot=0\n");
        Files.writeString(at.resolve("master.cfg"), MASTER.formatted(at, ADDRESS));
        Files.writeString(at.resolve("chunks.cfg"), CHUNKS.formatted(at, ADDRESS));
        master = run("master", "mfsmaster", "-f", "-c", at + "/master.cfg", "start")
            .awaitSaid("daemon initialized properly");
        startChunks();
        mountServed(first());
        mountServed(second());
        warmUp();
    }

    /**
     * Until a few seconds after its chunk server has come, the second write to a chunk waits for it; a test's writes
     * would outlast what the master gives them.
     */
    private void warmUp() throws IOException {
        final Path file = first().resolve("first-writes");
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            for (int i = 0; i < 2; i++) {
                channel.write(ByteBuffer.allocate(1), i);
                channel.force(true);
            }
        }
        Files.delete(file);
    }

    @Override
    void mountServed(final Path at) throws IOException {
        final ServerProcess process = mount(at);
        // A write before the chunk server has told its space would wait, or fail.
        Threads.awaitUntil(() -> at.toFile().getUsableSpace() > 0, () -> process.failure("has no space"));
    }

    @Override
    List<String> mountCommand(final Path at, final Path log) {
        return inNamespace("mfsmount", "-f", "-o", "mfsioretries=" + (patient ? 30 : 3), "-H", ADDRESS, at.toString());
    }

    @Override
    long leftWhenFull() {
        return LEFT_WHEN_FULL;
    }

    private void startChunks() throws IOException {
        chunks = run("chunkserver", "mfschunkserver", "-f", "-c", directory() + "/chunks.cfg", "start")
            .awaitSaid("connected to Master").awaitSaid("complete");
    }

    /** A chunk server looks only once a minute, and when it starts. */
    @Override
    void roomChanged() throws IOException {
        chunks.kill();
        startChunks();
    }

    private ServerProcess run(final String name, final String... words) throws IOException {
        return new ServerProcess(directory().resolve(name + ".out"), inNamespace(words));
    }

    private List<String> inNamespace(final String... words) {
        final List<String> command = new ArrayList<>(List.of("nsenter", "--net=/run/netns/" + namespace));
        command.addAll(List.of(words));
        return command;
    }

    private void ip(final String... words) throws InterruptedException {
        final List<String> command = new ArrayList<>(List.of("ip", "-n", namespace));
        command.addAll(List.of(words));
        final Commands.Result result = Commands.run(command);
        assertEquals(0, result.code(), result::output);
    }

    @Override
    public void killServer() {
        chunks.kill();
    }

    @Override
    public void close() {
        unmountAll();
        if (chunks != null) {
            chunks.close();
        }
        if (master != null) {
            master.close();
        }
        try {
            Commands.run("ip", "netns", "del", namespace);
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
