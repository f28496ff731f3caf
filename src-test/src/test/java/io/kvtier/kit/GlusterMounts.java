package io.kvtier.kit;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * GlusterFS of one brick, configured by hand, on a loopback port: no daemon that manages, nothing that other tests
 * could share. Its write-behind and read caches are on, as they are by default. What it is here for: pages that a mount
 * has read stay as they are in that mount's page cache though another mount has overwritten and synced them; direct
 * reads see what is there.
 */
public final class GlusterMounts extends SharedMounts {
    private static final String BRICK = """
        volume posix
            type storage/posix
            option directory %s
        end-volume
        volume locks
            type features/locks
            subvolumes posix
        end-volume
        volume server
            type protocol/server
            option transport-type tcp
            option transport.socket.bind-address 127.0.0.1
            option transport.socket.listen-port %d
            option auth.addr.locks.allow 127.0.0.1
            subvolumes locks
        end-volume
        """;
    private static final String CLIENT = """
        volume remote
            type protocol/client
            option transport-type tcp
            option remote-host 127.0.0.1
            option remote-port %d
            option remote-subvolume locks
        end-volume
        volume behind
            type performance/write-behind
            subvolumes remote
        end-volume
        volume cache
            type performance/io-cache
            subvolumes behind
        end-volume
        """;

    private final ServerProcess brick;

    private GlusterMounts(final Path directory, final Path data, final ServerProcess brick) {
        super(directory, data);
        this.brick = brick;
    }

    /**
     * Starts it.
     *
     * @param directory an empty folder on a file system with trusted extended attributes.
     * @return it, mounted twice.
     * @throws IOException          when a file cannot be written or a program not started.
     * @throws InterruptedException when interrupted.
     */
    public static GlusterMounts start(final Path directory) throws IOException, InterruptedException {
        return start(directory, directory.resolve("brick"));
    }

    /**
     * Starts it with its data elsewhere, on a file system that is small for instance.
     *
     * @param directory an empty folder.
     * @param data      the folder of the data.
     * @return it, mounted twice.
     * @throws IOException          when a file cannot be written or a program not started.
     * @throws InterruptedException when interrupted.
     */
    public static GlusterMounts start(final Path directory, final Path data) throws IOException,
        InterruptedException {
        require("glusterfs", "glusterfs-server and glusterfs-client", List.of("glusterfsd", "glusterfs"));
        Files.createDirectories(data);
        final int port = freePort();
        final Path volume = Files.writeString(directory.resolve("brick.vol"), BRICK.formatted(data, port));
        final GlusterMounts made = new GlusterMounts(directory, data,
            new ServerProcess(directory.resolve("brick.out"), List.of("glusterfsd", "--no-daemon", "-f",
                volume.toString(), "-l", directory + "/brick.log", "-p", directory + "/brick.pid")));
        try {
            made.createFolders(List.of("first", "second"));
            Files.writeString(directory.resolve("client.vol"), CLIENT.formatted(port));
            made.mountServed(made.first());
            made.mountServed(made.second());
            return made;
        } catch (final IOException | RuntimeException | AssertionError e) {
            made.close();
            throw e;
        }
    }

    @Override
    void mountServed(final Path at) throws IOException {
        final ServerProcess process = mount(at);
        // A mount that has not reached the brick yet refuses what is asked of it.
        Threads.awaitUntil(() -> Files.isDirectory(at) && at.toFile().list() != null,
            () -> process.failure("does not serve " + at));
    }

    @Override
    List<String> mountCommand(final Path at, final Path log) {
        return List.of("glusterfs", "--no-daemon", "--direct-io-mode=disable", "-f", directory() + "/client.vol", "-l",
            log + ".log", "-p", log + ".pid", at.toString());
    }

    @Override
    long leftWhenFull() {
        return 0;
    }

    /** Nobody takes it meanwhile who names none. */
    private static int freePort() throws IOException {
        try (ServerSocket socket =
            Ports.anywhere(port -> new ServerSocket(port, 1, InetAddress.getLoopbackAddress()))) {
            return socket.getLocalPort();
        }
    }

    @Override
    void roomChanged() {
        // It asks the file system of the brick each time.
    }

    @Override
    public void killServer() {
        brick.kill();
    }

    @Override
    public void close() {
        unmountAll();
        brick.close();
    }
}
