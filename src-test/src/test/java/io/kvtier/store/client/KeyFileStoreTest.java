package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.Faults;
import io.kvtier.kit.Faults.Call;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.store.BatchResult;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.ValueInfo;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.replica.KeyFolder;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.snapshot.files.DirectoryStore;
import io.kvtier.store.snapshot.files.SnapshotArchive;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Clients that share a folder in which each value has a file: one puts and leaves, another one reads. Both are in this
 * process, each with files and descriptors of its own.
 */
@ExtendWith(LeakCheck.class)
class KeyFileStoreTest {
    private static final ObjectKey KEY = ObjectKey.of("../key");
    private static final int SIZE = 30_001;
    private static final byte[] VALUE = PatternBytes.of(1, SIZE);

    @TempDir
    private Path temporary;
    private Path root;
    private Cluster cluster;

    private MasterSettings settings() {
        return Cluster.settings(1, 0)
            .withFiles(new MasterSettings.FileReplicas(KeyFolder.of(root.toString(), "c"), 0, true));
    }

    @BeforeEach
    void start() throws IOException {
        root = Files.createDirectory(temporary.resolve("shared"));
        cluster = new Cluster(settings(), new SnapshotArchive(DirectoryStore.open(temporary.resolve("snapshots"), "c"),
            "c", 10));
    }

    @AfterEach
    void close() {
        cluster.close();
    }

    private ConnectedStore writer() {
        return cluster.join(config -> config.memoryBytes(16 << 20));
    }

    private static void put(final Store store, final ObjectKey key, final byte[] value) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment source = arena.allocate(value.length);
            source.copyFrom(MemorySegment.ofArray(value));
            assertEquals(PutOutcome.STORED, store.put(key, source));
        }
    }

    private static List<ReplicaType> tiers(final Store store, final ObjectKey key) {
        return store.stat(key).map(ValueInfo::tiers).orElse(List.of());
    }

    private static void awaitFile(final Store store, final ObjectKey key) {
        Threads.awaitUntil(() -> tiers(store, key).contains(ReplicaType.DISK), () -> tiers(store, key));
    }

    private List<Path> files() {
        try (Stream<Path> all = Files.walk(root)) {
            return all.filter(Files::isRegularFile).toList();
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void awaitFiles(final int count) {
        Threads.awaitUntil(() -> files().size() == count, this::files);
    }

    private static ObjectKey key(final int number) {
        return number == 0 ? KEY : ObjectKey.of("t" + number % 3, "key" + number);
    }

    /** A client puts values, and is gone with its memory. */
    private void leave(final byte[]... values) {
        try (ConnectedStore writer = cluster.join(config -> config.memoryBytes(16 << 20))) {
            for (int i = 0; i < values.length; i++) {
                put(writer, key(i), values[i]);
            }
            for (int i = 0; i < values.length; i++) {
                awaitFile(writer, key(i));
            }
        }
    }

    private static byte[] get(final Store store, final ObjectKey key, final int size) {
        final byte[] bytes = new byte[size];
        final GetOutcome outcome = store.get(key, MemorySegment.ofArray(bytes));
        return outcome.equals(new GetOutcome(true, size, ReplicaType.DISK)) ? bytes : null;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4096, SIZE})
    void shouldReadWhatAClientHasLeftBehind(final int size) {
        final byte[] value = PatternBytes.of(2, size);
        leave(value);
        final ConnectedStore reader = cluster.join(config -> config);
        assertEquals(List.of(ReplicaType.DISK), tiers(reader, KEY), "nobody's memory has it any more");
        assertArrayEquals(value, get(reader, KEY, size));
        assertEquals(1, files().size());
        assertTrue(files().getFirst().startsWith(root.resolve("c")), "the key leads nowhere");
    }

    @Test
    void shouldReadFromMemoryWhileThereIsSome() {
        final ConnectedStore writer = writer();
        put(writer, KEY, VALUE);
        awaitFile(writer, KEY);
        assertEquals(ReplicaType.MEMORY,
            cluster.join(config -> config).get(KEY, MemorySegment.ofArray(new byte[SIZE])).tier());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldReadPartsOfAValue(final boolean verify) {
        leave(VALUE);
        final ConnectedStore reader = cluster.join(config -> config.verify(verify));
        for (final int[] part : new int[][] {{0, SIZE}, {0, 1}, {4095, 2}, {12_345, 10_000}, {SIZE - 1, 1},
            {SIZE, 0}}) {
            final byte[] bytes = new byte[part[1]];
            assertEquals(new GetOutcome(true, SIZE, ReplicaType.DISK),
                reader.getRange(KEY, part[0], MemorySegment.ofArray(bytes)));
            assertArrayEquals(Arrays.copyOfRange(VALUE, part[0], part[0] + part[1]), bytes);
        }
    }

    @Test
    void shouldReadBatches() {
        final byte[][] values = IntStream.range(0, 60).mapToObj(i -> PatternBytes.of(i, 4096 * (i % 5) + i + 1))
            .toArray(byte[][]::new);
        leave(values);
        final byte[][] found = new byte[values.length][];
        final List<BatchResult<GetOutcome>> outcomes = cluster.join(config -> config).getBatch(IntStream.range(0,
            values.length).mapToObj(i -> new Store.Item(key(i), List.of(MemorySegment.ofArray(found[i] =
                new byte[values[i].length])))).toList());
        for (int i = 0; i < values.length; i++) {
            assertEquals(new GetOutcome(true, values[i].length, ReplicaType.DISK), outcomes.get(i).orThrow());
            assertArrayEquals(values[i], found[i], "value " + i);
        }
    }

    @Test
    void shouldDeleteTheFileWithItsKey() {
        leave(VALUE, VALUE, VALUE, VALUE);
        final ConnectedStore other = writer();
        other.remove(key(0), true);
        awaitFiles(3);
        assertEquals(1, other.removeMatching("t1", "key1", true));
        awaitFiles(2);
        try (Arena arena = Arena.ofConfined()) {
            other.upsert(key(2), PutOptions.DEFAULT, arena.allocate(10));
        }
        awaitFile(other, key(2));
        awaitFiles(2);
        assertArrayEquals(new byte[10], other.getBytes(key(2)).orElseThrow());
        for (final String tenant : List.of(ObjectKey.DEFAULT_TENANT, "t0", "t2")) {
            other.removeAll(tenant, true);
        }
        awaitFiles(0);
    }

    /** Bytes of another value, a byte less, and nothing at all: never data, and the master hears of it. */
    @ParameterizedTest
    @CsvSource({"flip", "cut", "grow", "delete"})
    void shouldMissWhatIsNotWhatWasWritten(final String how) throws IOException {
        leave(VALUE, VALUE);
        final ConnectedStore reader = cluster.join(config -> config);
        final Path file = files().getFirst();
        final byte[] bytes = Files.readAllBytes(file);
        switch (how) {
            case "flip" -> {
                bytes[SIZE / 2] ^= 1;
                Files.write(file, bytes);
            }
            case "cut" -> Files.write(file, Arrays.copyOf(bytes, SIZE - 1));
            case "grow" -> Files.write(file, Arrays.copyOf(bytes, SIZE + 1));
            default -> Files.delete(file);
        }
        final List<ObjectKey> missed = Stream.of(key(0), key(1)).filter(key -> get(reader, key, SIZE) == null).toList();
        assertEquals(1, missed.size());
        assertFalse(reader.exists(missed.getFirst()), "nobody else is sent there");
    }

    @Test
    void shouldKeepWhatOneHostCannotRead() {
        leave(VALUE);
        final Faults faults = new Faults();
        final ConnectedStore broken = cluster.join(config -> config, faults);
        faults.failAlways(Call.READ, Errno.EIO);
        assertEquals(GetOutcome.MISS, broken.get(KEY, MemorySegment.ofArray(new byte[SIZE])));
        assertArrayEquals(VALUE, get(cluster.join(config -> config), KEY, SIZE));
    }

    /** A put has long ended when its file cannot be written; the value stays in memory, and nothing of the file. */
    @ParameterizedTest
    @CsvSource({"WRITE, 1", "SYNC, 1"})
    void shouldDropTheReplicaWhenItsFileCannotBeWritten(final Call call, final int nth) {
        final Faults faults = new Faults();
        final ConnectedStore writer = cluster.join(config -> config.memoryBytes(16 << 20).shm(false), faults);
        faults.failNth(call, nth, Errno.EIO);
        put(writer, KEY, VALUE);
        put(writer, key(1), VALUE);
        awaitFile(writer, key(1));
        awaitFiles(1);
        assertEquals(List.of(ReplicaType.MEMORY), tiers(writer, KEY));
        assertArrayEquals(VALUE, writer.getBytes(KEY).orElseThrow());
        assertEquals(0, writer.masterStats().heldReplicas());
    }

    @Test
    void shouldReadWhatASnapshotNames() {
        leave(VALUE);
        cluster.restartMaster(settings());
        final ConnectedStore reader = writer();
        assertArrayEquals(VALUE, get(reader, KEY, SIZE));
        reader.remove(KEY, true);
        awaitFiles(0);
    }

    /** What a snapshot names is read by a master that writes no such files, too. */
    @Test
    void shouldReadWhatASnapshotNamesWithoutAFolder() {
        leave(VALUE);
        cluster.restartMaster(Cluster.settings(1, 0));
        final ConnectedStore client = writer();
        assertArrayEquals(VALUE, get(client, KEY, SIZE));
        put(client, key(1), VALUE);
        assertEquals(List.of(ReplicaType.MEMORY), tiers(client, key(1)));
        assertEquals(1, files().size());
    }

    /** Nobody was there to delete it while the master lived. */
    @Test
    void shouldSweepWhatTheNextMasterDoesNotKnow() throws IOException {
        leave(VALUE, VALUE);
        try (ConnectedStore reader = cluster.join(config -> config)) {
            reader.remove(KEY, true);
        }
        final Path kept = root.resolve("c").resolve("notes.txt");
        Files.createFile(kept);
        assertEquals(3, files().size());
        cluster.restartMaster(settings());
        final ConnectedStore next = writer();
        awaitFiles(2);
        assertTrue(Files.exists(kept));
        assertArrayEquals(VALUE, get(next, key(1), SIZE));
    }

    @Test
    void shouldWriteNothingWhereTheFolderIsNotMounted() throws IOException {
        Files.delete(root);
        final ConnectedStore writer = writer();
        put(writer, KEY, VALUE);
        assertArrayEquals(VALUE, writer.getBytes(KEY).orElseThrow());
        assertEquals(List.of(ReplicaType.MEMORY), tiers(writer, KEY));
        assertEquals(0, writer.masterStats().heldReplicas());
        assertFalse(Files.exists(root), "what is to be mounted is not made");
        Files.createDirectory(root);
    }
}
