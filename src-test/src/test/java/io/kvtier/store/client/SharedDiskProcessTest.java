package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Commands;
import io.kvtier.kit.GlusterMounts;
import io.kvtier.kit.MooseMounts;
import io.kvtier.kit.SharedMounts;
import io.kvtier.kit.Threads;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The shared disk among processes, on shared file systems of this host: each node has a mount of its own with caches of
 * its own, all at one path. Values are written at one mount and read at the other.
 */
class SharedDiskProcessTest {
    private static final int PAGE = 65_536;
    /** So few that the values of one round take the places of those of the round before. */
    private static final int PAGES = 16;
    /** Of less than a block, a page, more than one, and several with a rest. */
    private static final int[] SIZES = {1, PAGE, PAGE + 1, 5 * PAGE - 777};

    @TempDir
    private Path temporary;
    private Path root;
    private SharedMounts mounts;
    private ClusterProcesses cluster;
    private final List<User> users = new ArrayList<>();

    /** Which file system. */
    private enum Kind {
        GLUSTER, MOOSE
    }

    @BeforeEach
    void makeRoot() throws IOException {
        root = Files.createDirectory(temporary.resolve("root"));
    }

    @AfterEach
    void close() {
        users.forEach(User::kill);
        if (cluster != null) {
            cluster.close();
        }
        if (mounts != null) {
            mounts.close();
        }
    }

    private void start(final Kind kind) throws Exception {
        final Path folder = Files.createDirectory(temporary.resolve("fs"));
        mounts = kind == Kind.GLUSTER ? GlusterMounts.start(folder) : MooseMounts.start(folder);
        startMaster();
    }

    private void startMaster() {
        cluster = new ClusterProcesses("--distributed_page_mode", "--distributed_root_dir=" + root,
            "--distributed_bucket_count=1", "--distributed_page_size=" + PAGE,
            "--distributed_bucket_size=" + (long) PAGES * PAGE, "--distributed_offload_at_put", "--client_ttl=5000ms",
            "--default_kv_lease_ttl=200ms", "--put_start_discard_timeout_sec=10", "--put_start_release_timeout_sec=20");
    }

    /** A client process. */
    private final class User {
        private final Process process;
        private final BufferedReader out;
        private final PrintStream in;

        User(final Path mount, final long memoryBytes) {
            final List<String> words = new ArrayList<>(List.of("env", "MOONCAKE_DISTRIBUTED_PAGE_MODE=1",
                "MOONCAKE_DISTRIBUTED_ROOT_DIR=" + root, "MOONCAKE_DISTRIBUTED_FS_TYPE=posix",
                "MOONCAKE_DISTRIBUTED_BUCKET_COUNT=1", "MOONCAKE_DISTRIBUTED_PAGE_SIZE=" + PAGE,
                "MOONCAKE_DISTRIBUTED_BUCKET_SIZE=" + (long) PAGES * PAGE));
            words.addAll(SharedMounts.seenAt(mount, root));
            final List<String> flags = new ArrayList<>(Commands.NATIVE_FLAGS);
            flags.add("-XX:TieredStopAtLevel=1");
            words.addAll(Commands.javaCommand(flags, SharedDiskUser.class, String.valueOf(cluster.port()),
                String.valueOf(memoryBytes)));
            try {
                process = new ProcessBuilder(words).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            } catch (final IOException e) {
                throw new UncheckedIOException(e);
            }
            users.add(this);
            out = process.inputReader(StandardCharsets.UTF_8);
            in = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
            assertEquals("ready", line());
        }

        private String line() {
            try {
                return out.readLine();
            } catch (final IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        String ask(final String command) {
            in.println(command);
            return line();
        }

        String put(final String key, final int seed, final int size) {
            return ask("put " + key + ' ' + seed + ' ' + size);
        }

        String get(final String key, final int seed, final int size) {
            return ask("get " + key + ' ' + seed + ' ' + size);
        }

        void awaitTiers(final String key, final String tiers) {
            Threads.awaitUntil(() -> tiers.equals(ask("tiers " + key)), () -> key + ' ' + ask("tiers " + key));
        }

        /** Takes its memory along, in good order. */
        void leave() {
            in.close();
            awaitEnd();
        }

        /** As if its host had died. */
        void kill() {
            process.destroyForcibly();
            awaitEnd();
        }

        private void awaitEnd() {
            Threads.awaitUntil(() -> !process.isAlive(), () -> "it does not end");
        }
    }

    private User writer() {
        return new User(mounts.first(), 8 << 20);
    }

    private User reader() {
        return new User(mounts.second(), 0);
    }

    /** Puts values of all sizes, and waits until they are on the shared disk. */
    private User store(final String name, final int seed) {
        final User writer = writer();
        for (int i = 0; i < SIZES.length; i++) {
            assertEquals("STORED", writer.put(name + i, seed + i, SIZES[i]));
        }
        for (int i = 0; i < SIZES.length; i++) {
            writer.awaitTiers(name + i, "[MEMORY, DISTRIBUTED_DISK]");
        }
        return writer;
    }

    /** The same by a process that takes its memory along when it is done. */
    private void leave(final User reader, final String name, final int seed) {
        store(name, seed).leave();
        awaitAlone(reader, name);
    }

    private static void awaitAlone(final User reader, final String name) {
        for (int i = 0; i < SIZES.length; i++) {
            reader.awaitTiers(name + i, "[DISTRIBUTED_DISK]");
        }
    }

    private static void assertSame(final User reader, final String name, final int seed) {
        for (int i = 0; i < SIZES.length; i++) {
            assertEquals("same", reader.get(name + i, seed + i, SIZES[i]), name + i);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldReadAtOneMountWhatAProcessThatWasKilledWroteAtAnother(final Kind kind) throws Exception {
        start(kind);
        final User reader = reader();
        store("a", 10).kill();
        awaitAlone(reader, "a");
        assertSame(reader, "a", 10);
    }

    /** Where buffered readers would see what was there before. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldReadWhatHasTakenThePlaceOfWhatItReadBefore(final Kind kind) throws Exception {
        start(kind);
        final User reader = reader();
        leave(reader, "a", 10);
        assertSame(reader, "a", 10);
        for (int i = 0; i < SIZES.length; i++) {
            final String key = "a" + i;
            Threads.awaitUntil(() -> "REMOVED".equals(reader.ask("remove " + key)), () -> key + " is leased");
        }
        leave(reader, "b", 100);
        assertSame(reader, "b", 100);
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldKeepApartWhatTwoNodesWriteToOneFile(final Kind kind) throws Exception {
        start(kind);
        final User one = writer();
        final User two = new User(mounts.second(), 8 << 20);
        final int values = 6;
        for (int i = 0; i < values; i++) {
            assertEquals("STORED", (i % 2 == 0 ? one : two).put("k" + i, i, PAGE + 100 * i));
        }
        for (int i = 0; i < values; i++) {
            one.awaitTiers("k" + i, "[MEMORY, DISTRIBUTED_DISK]");
        }
        one.kill();
        two.kill();
        final User reader = reader();
        for (int i = 0; i < values; i++) {
            reader.awaitTiers("k" + i, "[DISTRIBUTED_DISK]");
            assertEquals("same", reader.get("k" + i, i, PAGE + 100 * i));
        }
    }

    @Test
    void shouldNeverReadOtherBytesFromAFileThatTookTheNameOfTheOneItHadOpen() throws Exception {
        start(Kind.GLUSTER);
        final User reader = reader();
        leave(reader, "a", 10);
        assertSame(reader, "a", 10);
        final Path file = mounts.first().resolve("bucket_00.data");
        final Path copy = Files.copy(file, file.resolveSibling("copy"));
        Files.move(copy, file, StandardCopyOption.REPLACE_EXISTING);
        assertSame(reader, "a", 10);

        final Path empty = file.resolveSibling("empty");
        try (FileChannel channel = FileChannel.open(empty, StandardOpenOption.CREATE_NEW,
            StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.allocate(1), (long) PAGES * PAGE - 1);
            channel.force(true);
        }
        Files.move(empty, file, StandardCopyOption.REPLACE_EXISTING);
        // The one that it has open may be read for a while; what it gets is the value, or nothing.
        Threads.awaitUntil(() -> {
            final String got = reader.get("a3", 13, SIZES[3]);
            assertNotEquals("different", got);
            return !"same".equals(got);
        }, () -> "the file that is gone is still read");
    }

    @Test
    void shouldGoOnWhenTheFileSystemIsGone() throws Exception {
        start(Kind.GLUSTER);
        final User reader = reader();
        leave(reader, "a", 10);
        assertSame(reader, "a", 10);
        final User writer = writer();
        assertEquals("STORED", writer.put("early", 3, PAGE));
        writer.awaitTiers("early", "[MEMORY, DISTRIBUTED_DISK]");
        mounts.killServer();
        assertEquals("same", reader.get("early", 3, PAGE), "from memory");
        assertEquals("STORED", writer.put("late", 4, PAGE));
        assertEquals("same", reader.get("late", 4, PAGE), "memory alone has it");
        final String gone = reader.get("a1", 11, SIZES[1]);
        assertTrue(List.of("miss", "FILE_READ_FAIL", "FILE_OPEN_FAIL", "TRANSFER_FAIL").contains(gone), gone);
        assertEquals("[DISTRIBUTED_DISK]", reader.ask("tiers a1"), "it is there for others");
    }
}
