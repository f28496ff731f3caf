package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.kvtier.kit.Commands;
import io.kvtier.kit.GlusterMounts;
import io.kvtier.kit.MooseMounts;
import io.kvtier.kit.Mounts;
import io.kvtier.kit.SharedMounts;
import io.kvtier.kit.Threads;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * A shared file system of this host, a master and clients, all but this in processes of their own. Each client sees one
 * of two mounts at one path, in a mount namespace of its own.
 */
final class SharedDiskNodes implements AutoCloseable {
    static final int PAGE = 65_536;
    /** Of less than a block, a page, more than one, and several with a rest. */
    static final int[] SIZES = {1, PAGE, PAGE + 1, 5 * PAGE - 777};
    private static final int KIB = 1024;

    private final Path folder;
    private final Path root;
    /** 0 where each value has a file of its own. */
    private final int buckets;
    private final int pages;
    /** Of files of single values, as all clients see it; null where there are none, or no file system yet. */
    private Path values;
    private final List<User> users = new ArrayList<>();
    private Mounts disk;
    private SharedMounts mounts;
    /** Null when others use the file system, too. */
    private SharedMounts own;
    private ClusterProcesses cluster;

    /** Which file system. */
    enum Kind {
        /** Of one brick. */
        GLUSTER,
        /** Of one chunk server. */
        MOOSE
    }

    /**
     * File systems for all cases of a class that do them no harm: each is started when it is wanted first. Whoever
     * comes later begins with the files of those before, and with a master that knows nothing of them.
     */
    static final class Running implements AutoCloseable {
        private final Path folder;
        private final Map<Kind, SharedMounts> running = new EnumMap<>(Kind.class);

        /** In an empty folder. */
        Running(final Path folder) {
            this.folder = folder;
        }

        private SharedMounts of(final Kind kind) throws IOException, InterruptedException {
            if (!running.containsKey(kind)) {
                running.put(kind, start(kind, Files.createTempDirectory(folder, kind.name())));
            }
            return running.get(kind);
        }

        @Override
        public void close() {
            running.values().forEach(SharedMounts::close);
        }
    }

    /**
     * None runs yet.
     *
     * @param temporary an empty folder.
     * @param buckets   how many files.
     * @param pages     of each of them.
     */
    SharedDiskNodes(final Path temporary, final int buckets, final int pages) {
        try {
            this.folder = Files.createDirectory(temporary.resolve("fs"));
            this.root = Files.createDirectory(temporary.resolve("root"));
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
        this.buckets = buckets;
        this.pages = pages;
    }

    /** The same for files of single values. */
    static SharedDiskNodes ofKeyFiles(final Path temporary) {
        return new SharedDiskNodes(temporary, 0, 0);
    }

    /** Takes a file system that others use as well, before and after. */
    void use(final Running running, final Kind kind) throws IOException, InterruptedException {
        mounts = running.of(kind);
    }

    /** Mounts a file system of its own; its data is on a disk with room. */
    void mount(final Kind kind) throws IOException, InterruptedException {
        own = start(kind, folder);
        mounts = own;
    }

    private static SharedMounts start(final Kind kind, final Path folder) throws IOException, InterruptedException {
        return kind == Kind.GLUSTER ? GlusterMounts.start(folder) : MooseMounts.start(folder);
    }

    /** The same with its data where it can be {@linkplain SharedMounts#fill filled up}. */
    void mountSmall(final Kind kind) throws IOException, InterruptedException {
        final int mebibytes = kind == Kind.GLUSTER ? 64 : 300;
        disk = Mounts.tmpfs(Files.createDirectory(folder.resolve("disk")), mebibytes * (long) KIB * KIB);
        final Path data = disk.at().resolve("data");
        own = kind == Kind.GLUSTER ? GlusterMounts.start(folder, data) : MooseMounts.start(folder, data);
        mounts = own;
    }

    /**
     * Starts the master. Unless an option says otherwise it soon takes clients that were killed for dead, and a write
     * has more time than the file systems take on a busy host: MooseFS once had a value of two mounts that write to one
     * chunk after 20 s.
     */
    void startMaster(final String... more) {
        final Map<String, String> options = new LinkedHashMap<>();
        for (final String option : buckets == 0 ? List.of("--root_fs_dir=" + makeValues())
            : List.of("--distributed_page_mode", "--distributed_root_dir=" + root,
            "--distributed_bucket_count=" + buckets, "--distributed_page_size=" + PAGE,
            "--distributed_bucket_size=" + bucketBytes(), "--distributed_offload_at_put")) {
            options.put(name(option), option);
        }
        for (final String option : List.of("--client_ttl=5000ms", "--default_kv_lease_ttl=200ms",
            "--put_start_discard_timeout_sec=30", "--put_start_release_timeout_sec=60")) {
            options.put(name(option), option);
        }
        for (final String option : more) {
            options.put(name(option), option);
        }
        cluster = new ClusterProcesses(options.values().toArray(String[]::new));
    }

    /** Others have left theirs in the same file system. */
    private Path makeValues() {
        try {
            values = root.resolve(Files.createTempDirectory(mounts.first(), "values").getFileName());
            return values;
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Files of single values, whole or not, as one of the mounts has them. */
    List<String> keyFiles(final Path mount) {
        try (Stream<Path> all = Files.walk(mount.resolve(values.getFileName()))) {
            return all.filter(Files::isRegularFile).map(file -> file.getFileName().toString()).sorted().toList();
        } catch (final IOException | UncheckedIOException e) {
            // Something was deleted while it was looked at.
            return List.of("changing");
        }
    }

    private static String name(final String option) {
        return option.split("=", 2)[0];
    }

    SharedMounts mounts() {
        return mounts;
    }

    ClusterProcesses cluster() {
        return cluster;
    }

    /** Where all clients see the file system. */
    Path root() {
        return root;
    }

    long bucketBytes() {
        return (long) pages * PAGE;
    }

    /** A client process. */
    final class User {
        private final Process process;
        private final Path log;
        private final BufferedReader out;
        private final PrintStream in;

        private User(final Path mount, final long memoryBytes, final boolean readOnly) {
            final List<String> words = new ArrayList<>();
            if (buckets > 0) {
                words.addAll(List.of("env", "MOONCAKE_DISTRIBUTED_PAGE_MODE=1", "MOONCAKE_DISTRIBUTED_ROOT_DIR=" + root,
                    "MOONCAKE_DISTRIBUTED_FS_TYPE=posix", "MOONCAKE_DISTRIBUTED_BUCKET_COUNT=" + buckets,
                    "MOONCAKE_DISTRIBUTED_PAGE_SIZE=" + PAGE, "MOONCAKE_DISTRIBUTED_BUCKET_SIZE=" + bucketBytes(),
                    "MOONCAKE_DISTRIBUTED_READ_ONLY=" + readOnly));
            }
            words.addAll(SharedMounts.seenAt(mount, root, readOnly));
            final List<String> flags = new ArrayList<>(Commands.NATIVE_FLAGS);
            flags.add("-XX:TieredStopAtLevel=1");
            words.addAll(Commands.javaCommand(flags, SharedDiskUser.class, String.valueOf(cluster.port()),
                String.valueOf(memoryBytes)));
            log = folder.resolve("user" + users.size() + ".out");
            try {
                process = new ProcessBuilder(words).redirectError(log.toFile()).start();
            } catch (final IOException e) {
                throw new UncheckedIOException(e);
            }
            users.add(this);
            out = process.inputReader(StandardCharsets.UTF_8);
            in = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
        }

        private User ready() {
            assertEquals("ready", line(), this::said);
            return this;
        }

        /** What it said when it did not begin. */
        String refusal() {
            assertNull(line());
            awaitEnd();
            return said();
        }

        /** What it said of itself. */
        String said() {
            try {
                return Files.readString(log);
            } catch (final IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** By which others reach its mount namespace. */
        long pid() {
            return process.pid();
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
            final String answer = line();
            if (answer == null) {
                throw new AssertionError("it has ended, and was asked: " + command + '\n' + said());
            }
            return answer;
        }

        String put(final String key, final int seed, final int size) {
            return ask("put " + key + ' ' + seed + ' ' + size);
        }

        String get(final String key, final int seed, final int size) {
            return ask("get " + key + ' ' + seed + ' ' + size);
        }

        void awaitTiers(final String key, final String tiers) {
            Threads.awaitUntil(() -> tiers.equals(ask("tiers " + key)),
                () -> key + ' ' + ask("tiers " + key) + '\n' + said());
        }

        /** Waits until a get finds the value, or none; what is never found is another one. */
        void awaitGet(final String answer, final String key, final int seed, final int size) {
            Threads.awaitUntil(() -> {
                final String got = get(key, seed, size);
                assertNotEquals("different", got, key);
                return answer.equals(got);
            }, () -> key + ' ' + get(key, seed, size) + '\n' + said());
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

    /** A client at the first mount that lends memory. */
    User writer() {
        return new User(mounts.first(), 8 << 20, false).ready();
    }

    /** One at the second mount. */
    User otherWriter() {
        return new User(mounts.second(), 8 << 20, false).ready();
    }

    /** A client at the second mount that lends nothing. */
    User reader() {
        return readerAt(mounts.second());
    }

    /** A client at another mount that lends memory. */
    User writerAt(final Path mount) {
        return new User(mount, 8 << 20, false).ready();
    }

    /** One at another mount. */
    User readerAt(final Path mount) {
        return new User(mount, 0, false).ready();
    }

    /** One that cannot write there. */
    User readOnly() {
        return new User(mounts.second(), 0, true).ready();
    }

    /** A client on a host where the file system is not mounted: the folder is empty, or has what it had before. */
    User elsewhere(final Path there) {
        return new User(there, 0, false);
    }

    /** Puts values of all sizes, and waits until they are on the shared disk. */
    User store(final String name, final int seed) {
        final User writer = writer();
        for (int i = 0; i < SIZES.length; i++) {
            assertEquals("STORED", writer.put(name + i, seed + i, SIZES[i]));
        }
        for (int i = 0; i < SIZES.length; i++) {
            writer.awaitTiers(name + i, buckets == 0 ? "[MEMORY, DISK]" : "[MEMORY, DISTRIBUTED_DISK]");
        }
        return writer;
    }

    /** The same by a process that takes its memory along when it is done. */
    void leave(final User reader, final String name, final int seed) {
        store(name, seed).leave();
        awaitAlone(reader, name);
    }

    static void awaitAlone(final User reader, final String name) {
        for (int i = 0; i < SIZES.length; i++) {
            reader.awaitTiers(name + i, "[DISTRIBUTED_DISK]");
        }
    }

    static void assertSame(final User reader, final String name, final int seed) {
        for (int i = 0; i < SIZES.length; i++) {
            assertEquals("same", reader.get(name + i, seed + i, SIZES[i]), name + i);
        }
    }

    @Override
    public void close() {
        users.forEach(User::kill);
        if (cluster != null) {
            cluster.close();
        }
        if (own != null) {
            own.close();
        }
        if (disk != null) {
            disk.close();
        }
    }
}
