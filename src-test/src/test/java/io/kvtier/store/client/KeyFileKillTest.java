package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Jvm;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.ReferenceXxh64;
import io.kvtier.kit.Threads;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.StoreException;
import io.kvtier.store.ValueInfo;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.replica.ReplicaType;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Processes that write files of single values, and a master, are killed at random points, or stand still for too long.
 * What has a file's name is whole at each of them; what the master names is read, and what it does not is deleted.
 */
@ExtendWith(LeakCheck.class)
class KeyFileKillTest {
    private static final int ROUNDS = Integer.getInteger("kvtier.kill.rounds", 2);
    /** So often each process is stopped before it is killed. */
    private static final int STOPS = Integer.getInteger("kvtier.kill.stops", 8);
    private static final long SEED = Long.getLong("kvtier.kill.seed", 20_261_201L);
    /** A process has written so many before it is killed. */
    private static final int LEAST_FILES = 5;
    private static final int MOST_LINES = 40;
    private static final int MOST_LINES_TO_A_STOP = 6;
    private static final int MOST_BYTES = 150_000;
    private static final int LATE_BYTES = 4_000_000;

    @TempDir
    private Path temporary;
    private Path root;
    private ClusterProcesses cluster;
    /** Has the folder first, so that it deletes what goes. */
    private ConnectedStore keeper;
    /** Bytes of each value that somebody was about to put. */
    private final Map<Integer, Integer> sizes = new HashMap<>();

    /** The process that is killed: says what it is about to put, and puts until it reads a word. */
    static final class Victim {
        private Victim() {
        }

        public static void main(final String[] arguments) throws IOException {
            final SplittableRandom random = new SplittableRandom(Long.parseLong(arguments[1]));
            final int most = Integer.parseInt(arguments[3]);
            int number = Integer.parseInt(arguments[2]);
            // The memory of those before is refused until they are taken for dead.
            final String name = "victim" + number;
            final ConnectConfig config = ConnectConfig.builder("127.0.0.1", Integer.parseInt(arguments[0]))
                .name(name).memoryBytes(128 << 20).shm(false).build();
            final PrintStream out = new PrintStream(System.out, true, StandardCharsets.US_ASCII);
            try (ConnectedStore store = ConnectedStore.open(config, StoreHooks.SYSTEM)) {
                out.println("ready");
                while (System.in.available() == 0) {
                    final int size = 1 + random.nextInt(most);
                    out.println("put " + number + ' ' + size + " .");
                    put(store, name, number, size);
                    number++;
                }
            }
        }

        private static void put(final ConnectedStore store, final String segment, final int number, final int size) {
            try {
                store.put(key(number), PutOptions.DEFAULT.withPreferredSegments(segment),
                    MemorySegment.ofArray(PatternBytes.of(number, size)));
            } catch (final StoreException e) {
                // It stood still meanwhile, for too long.
                if (e.code() != ErrorCode.INVALID_WRITE) {
                    throw e;
                }
            }
        }
    }

    @BeforeEach
    void makeFolder() throws IOException {
        root = Files.createDirectory(temporary.resolve("shared"));
    }

    @AfterEach
    void close() {
        if (cluster != null) {
            cluster.close();
        }
    }

    private void start(final String... options) {
        final String[] all = Stream.concat(Stream.of("--root_fs_dir=" + root, "--cluster_id=c",
            "--default_kv_lease_ttl=200ms"), Stream.of(options)).toArray(String[]::new);
        cluster = new ClusterProcesses(all);
        keeper = cluster.join(cluster.config().memoryBytes(1 << 20));
    }

    private Jvm victim(final long seed, final int from, final int most) {
        return Jvm.start(List.of("-Xmx256m"), ProcessBuilder.Redirect.INHERIT, Victim.class,
            String.valueOf(cluster.port()), String.valueOf(seed), String.valueOf(from), String.valueOf(most));
    }

    private void said(final String[] words) {
        sizes.put(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
    }

    private static ObjectKey key(final int number) {
        return ObjectKey.of("key" + number);
    }

    private static List<ReplicaType> tiers(final ConnectedStore store, final int number) {
        return store.stat(key(number)).map(ValueInfo::tiers).orElse(List.of());
    }

    private List<Path> files() {
        try (Stream<Path> all = Files.walk(root)) {
            return all.filter(Files::isRegularFile).toList();
        } catch (final IOException | UncheckedIOException e) {
            // Something was deleted while it was looked at.
            return List.of(Path.of("changing"));
        }
    }

    /** Which values have a file: by the hash of tenant and key that its name begins with. */
    private Map<Integer, Path> withFiles() {
        final Map<String, Integer> names = new HashMap<>();
        sizes.keySet().forEach(number -> names.put(String.format("%016x", ReferenceXxh64.of(
            ("default\0" + key(number).key()).getBytes(StandardCharsets.UTF_8))), number));
        return files().stream().filter(file -> file.toString().endsWith(".kv")).collect(Collectors.toMap(
            file -> names.get(file.getFileName().toString().split("-")[0]), file -> file));
    }

    private Set<Integer> named(final ConnectedStore store) {
        return sizes.keySet().stream().filter(number -> tiers(store, number).contains(ReplicaType.DISK))
            .collect(Collectors.toCollection(TreeSet::new));
    }

    private void verifyFiles(final String when) {
        withFiles().forEach((number, file) -> {
            try {
                assertArrayEquals(PatternBytes.of(number, sizes.get(number)), Files.readAllBytes(file),
                    () -> when + ": " + file);
            } catch (final NoSuchFileException e) {
                // Of a process that was killed before, of which the master has not heard: deleted meanwhile.
                assertFalse(tiers(keeper, number).contains(ReplicaType.DISK), () -> when + ": " + file);
            } catch (final IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    private void assertRead(final ConnectedStore store, final Set<Integer> numbers, final String when) {
        for (final int number : numbers) {
            final byte[] bytes = new byte[sizes.get(number)];
            assertEquals(new GetOutcome(true, bytes.length, ReplicaType.DISK),
                store.get(key(number), MemorySegment.ofArray(bytes)), () -> when + ": " + key(number));
            assertArrayEquals(PatternBytes.of(number, bytes.length), bytes, () -> when + ": " + key(number));
        }
    }

    /** Nothing that is unfinished, nothing that nobody knows, and all that the master names. */
    private void awaitOnly(final Set<Integer> numbers) {
        Threads.awaitUntil(() -> files().size() == numbers.size() && withFiles().keySet().equals(numbers)
            && named(keeper).equals(numbers), () -> files() + ", named " + named(keeper) + " of " + numbers);
    }

    /** Clients that write are killed, again and again. Returns which values have files in the end. */
    private Set<Integer> killWriters(final SplittableRandom random) {
        for (int round = 0; round < ROUNDS; round++) {
            final String when = "seed " + SEED + ", round " + round;
            final int least = named(keeper).size() + LEAST_FILES;
            try (Jvm victim = victim(random.nextLong(), round * 100_000, MOST_BYTES)) {
                for (int stop = 0; stop < STOPS || named(keeper).size() < least; stop++) {
                    final String place = when + ", stop " + stop;
                    victim.stopAt(1 + random.nextInt(MOST_LINES_TO_A_STOP), this::said, () -> verifyFiles(place));
                }
                victim.killAt(1 + random.nextInt(MOST_LINES), this::said);
            }
            assertRead(keeper, named(keeper), when);
        }
        // Those in the memory of processes that are taken for dead are gone, and so is what these have not finished.
        Threads.awaitUntil(() -> sizes.keySet().stream().noneMatch(number ->
            tiers(keeper, number).contains(ReplicaType.MEMORY)), () -> "it is not taken for dead");
        final Set<Integer> named = named(keeper);
        awaitOnly(named);
        assertRead(keeper, named, "in the end");
        return named;
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldReadWhatTheMasterNamesAfterWritersAndTheMasterWereKilled(final boolean snapshots) {
        final String ttl = "--client_ttl=2000ms";
        if (snapshots) {
            start(ttl, "--enable_snapshot", "--enable_snapshot_restore", "--snapshot_interval_seconds=24h",
                "--snapshot_backup_dir=" + temporary.resolve("snapshots"));
        } else {
            start(ttl);
        }
        final SplittableRandom random = new SplittableRandom(SEED);
        Set<Integer> named = killWriters(random);
        if (snapshots) {
            assertEquals(200, cluster.http("POST", "/api/v1/snapshots", "").statusCode());
        } else {
            named = Set.of();
        }
        try (Jvm late = victim(random.nextLong(), 50_000_000, MOST_BYTES)) {
            final int before = named(keeper).size();
            while (named(keeper).size() == before) {
                late.stopAt(1, this::said, () -> { });
            }
            late.stopAt(1 + random.nextInt(MOST_LINES_TO_A_STOP), this::said, () -> cluster.master().kill());
            late.kill();
        }
        assertTrue(withFiles().size() > named.size(), "something came after the snapshot");

        cluster.startMaster();
        final ConnectedStore reader = cluster.join(cluster.config());
        assertRead(reader, named, "from the snapshot");
        awaitOnly(named);
        assertRead(reader, named, "after the look at what nobody knows");
    }

    private boolean isUnfinished() {
        return files().stream().anyMatch(file -> file.toString().endsWith(".tmp"));
    }

    /** It goes on when the master has given its files up; what it finishes then does not count, and does not stay. */
    @Test
    void shouldKeepNothingOfAWriterThatStoodStillForTooLong() {
        start("--client_ttl=60s", "--put_start_discard_timeout_sec=1", "--put_start_release_timeout_sec=2");
        try (Jvm victim = victim(SEED, 0, LATE_BYTES)) {
            final AtomicInteger late = new AtomicInteger();
            while (late.get() < ROUNDS) {
                victim.stopAt(1, this::said, () -> {
                    if (isUnfinished()) {
                        Threads.awaitUntil(() -> keeper.masterStats().heldReplicas() == 0, this::files);
                        late.incrementAndGet();
                    }
                });
            }
            // What comes later is written as ever.
            while (named(keeper).isEmpty()) {
                victim.stopAt(1, this::said, () -> { });
            }
            victim.tell("end");
            for (String line = victim.line(); line != null; line = victim.line()) {
                said(line.split(" "));
            }
            assertEquals(0, victim.join());
        }
        final Set<Integer> named = named(keeper);
        awaitOnly(named);
        assertRead(keeper, named, "after a writer was late");
        assertEquals(0, keeper.masterStats().heldReplicas());
    }
}
