package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.CallerMemory;
import io.kvtier.kit.CallerMemory.Kind;
import io.kvtier.kit.Faults;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.Mounts;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.SimulatedBuffers;
import io.kvtier.kit.SimulatedDevices;
import io.kvtier.kit.SimulatedMemory;
import io.kvtier.kit.Threads;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.RegionItem;
import io.kvtier.store.RegionPart;
import io.kvtier.store.SharedDiskConfig;
import io.kvtier.store.Store;
import io.kvtier.store.StoreException;
import io.kvtier.store.StoreStats;
import io.kvtier.store.ValueInfo;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.config.SharedDiskVariables.FileSystem;
import io.kvtier.store.protocol.PageCommand.GetDistributedPageMapping;
import io.kvtier.store.protocol.PageCommand.MountDistributedDisk;
import io.kvtier.store.protocol.PageCommand.UnmountDistributedDisk;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaDescriptor.DistributedDisk;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.storage.shared.ClusterMarker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import java.util.logging.Logger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Clients that share a disk: one takes a value there and leaves, another one reads it without anybody's help. Both are
 * in this process, each with files and descriptors of its own.
 */
@ExtendWith(LeakCheck.class)
class SharedDiskStoreTest {
    private static final ObjectKey KEY = ObjectKey.of("key");
    private static final int SIZE = 30_001;
    private static final byte[] VALUE = PatternBytes.of(1, SIZE);
    private static final int BUCKETS = 4;
    private static final int PAGE = 4096;
    private static final long BUCKET = 1L << 20;
    private static final long LEASE_MS = 60_000;

    @TempDir
    private Path temporary;
    private Path folder;
    private final SimulatedDevices devices = new SimulatedDevices(new SimulatedMemory());
    private Cluster cluster;

    private static MasterSettings settings(final PageLayout layout) {
        return settings(layout, "c1");
    }

    private static MasterSettings settings(final PageLayout layout, final String clusterId) {
        return settings(layout, clusterId, MasterSettings.Pages.OFF.promotion());
    }

    private static MasterSettings settings(final PageLayout layout, final MasterSettings.Promotion promotion) {
        return settings(layout, "c1", promotion);
    }

    private static MasterSettings settings(final PageLayout layout, final String clusterId,
        final MasterSettings.Promotion promotion) {
        final MasterSettings.Pages off = MasterSettings.Pages.OFF;
        return new MasterSettings(new MasterSettings.Eviction(1, 0, 1, 0, true), LEASE_MS, true, 1_000,
            new MasterSettings.Liveness(600_000, 30_000, 600_000, 3), MasterSettings.Pins.DEFAULT,
            MasterSettings.Tasks.DEFAULT, false, MasterSettings.Strategy.RANDOM,
            new MasterSettings.Pages(layout, clusterId, off.highWatermark(), off.ratio(), true, promotion));
    }

    @BeforeEach
    void start() throws IOException {
        folder = Files.createDirectory(temporary.resolve("shared"));
        cluster = new Cluster(settings(layout())).with(devices);
    }

    @AfterEach
    void close() {
        cluster.close();
        assertEquals(0, devices.openStreams());
    }

    private PageLayout layout() {
        return new PageLayout(folder.toString(), BUCKETS, PAGE, BUCKET);
    }

    private SharedDiskConfig shared() {
        return new SharedDiskConfig(layout(), FileSystem.POSIX, true, false);
    }

    private ConnectedStore reader() {
        return cluster.join(config -> config.sharedDisk(shared()));
    }

    private ConnectedStore reader(final Faults faults) {
        return cluster.join(config -> config.sharedDisk(shared()), faults);
    }

    private static void put(final Store store, final ObjectKey key, final byte[] value) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment source = arena.allocate(value.length);
            source.copyFrom(MemorySegment.ofArray(value));
            store.put(key, source);
        }
    }

    private static List<ReplicaType> tiers(final Store store, final ObjectKey key) {
        return store.stat(key).map(ValueInfo::tiers).orElse(List.of());
    }

    private static void awaitShared(final Store store, final ObjectKey key) {
        Threads.awaitUntil(() -> tiers(store, key).contains(ReplicaType.DISTRIBUTED_DISK), () -> tiers(store, key));
    }

    /** A client puts values, takes them to the shared disk, and is gone with its memory. */
    private StoreStats leave(final byte[]... values) {
        return leave(config -> config, values);
    }

    private StoreStats leave(final UnaryOperator<ConnectConfig.Builder> more, final byte[]... values) {
        try (ConnectedStore writer =
            cluster.join(config -> more.apply(config.memoryBytes(16 << 20).sharedDisk(shared())))) {
            for (int i = 0; i < values.length; i++) {
                put(writer, key(i), values[i]);
            }
            for (int i = 0; i < values.length; i++) {
                awaitShared(writer, key(i));
            }
            // They are counted when the master has said that it has them.
            Threads.awaitUntil(() -> writes(writer).values() == values.length, () -> writes(writer));
            return writer.stats();
        }
    }

    private static StoreStats.SharedWrites writes(final Store store) {
        return store.stats().sharedDisk().writes();
    }

    private static ObjectKey key(final int number) {
        return number == 0 ? KEY : ObjectKey.of("t" + number % 3, "key" + number);
    }

    private DistributedDisk place(final ConnectedStore store) {
        return store.parts().master().apply(new GetDistributedPageMapping(KEY)).place();
    }

    private static void write(final Path file, final long offset, final byte[] bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(bytes), offset);
            channel.force(true);
        }
    }

    private static byte[] get(final Store store, final ObjectKey key, final int size) {
        final byte[] bytes = new byte[size];
        final GetOutcome outcome = store.get(key, MemorySegment.ofArray(bytes));
        return outcome.equals(new GetOutcome(true, size, ReplicaType.DISTRIBUTED_DISK)) ? bytes : null;
    }

    @Test
    void shouldReadWhatAClientHasLeftBehind() {
        final StoreStats left = leave(VALUE);
        assertEquals(new StoreStats.SharedWrites(1, 8, SIZE, 0, 0), left.sharedDisk().writes());
        final ConnectedStore reader = reader();
        assertEquals(List.of(ReplicaType.DISTRIBUTED_DISK), tiers(reader, KEY), "nobody's memory has it any more");

        assertArrayEquals(VALUE, get(reader, KEY, SIZE));

        final StoreStats.SharedReads reads = reader.stats().sharedDisk().reads();
        assertEquals(1, reads.reads());
        assertEquals(SIZE, reads.readBytes());
        assertEquals(1, reads.openFiles());
    }

    /** The memory of a client, and what lies in it, has nothing to do with files that are another cluster's. */
    @Test
    void shouldKeepWhatItLendsWhereTheNextMasterIsOfAnotherCluster() {
        final ConnectConfig config = cluster.config().memoryBytes(16 << 20).sharedDisk(shared()).build();
        final FaultyLink link = new FaultyLink(config);
        final AtomicInteger mounts = new AtomicInteger();
        link.fault(new FaultyLink.Fault() {
            @Override
            public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                mounts.addAndGet(exchange.command() instanceof MountDistributedDisk ? 1 : 0);
                return exchange.pass();
            }
        });
        try (ConnectedStore store = ConnectedStore.open(config, StoreHooks.SYSTEM, link)) {
            cluster.restartMaster(settings(layout(), "another"));
            Threads.awaitUntil(() -> mounts.get() > 1, mounts::get);
            Threads.awaitUntil(() -> store.masterStats().memoryCapacity() > 0, store::masterStats);
            put(store, KEY, VALUE);
            final List<String> addresses = store.addresses();
            final int before = mounts.get();
            Threads.awaitUntil(() -> mounts.get() > before + 3, mounts::get);
            assertEquals(addresses, store.addresses());
            assertArrayEquals(VALUE, store.getBytes(KEY).orElseThrow());
            assertEquals(List.of(ReplicaType.MEMORY), tiers(store, KEY), "nothing is written to the other's files");
        }
    }

    /** What is wrong with the files is what has to be heard, also when the master is gone meanwhile. */
    @Test
    void shouldSayWhyItsFilesWillNotDoThoughTheMasterCannotBeTold() throws IOException {
        try (ConnectedStore first = reader()) {
            assertEquals(0, first.stats().objects());
        }
        cluster.restartMaster(settings(layout(), "another"));
        final ConnectConfig config = cluster.config().sharedDisk(shared()).build();
        final FaultyLink link = new FaultyLink(config);
        link.fault(new FaultyLink.Fault() {
            @Override
            public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                if (exchange.command() instanceof UnmountDistributedDisk) {
                    throw new StoreException(ErrorCode.RPC_FAIL, "the master is gone");
                }
                return exchange.pass();
            }
        });
        final StoreException refusal =
            assertThrows(StoreException.class, () -> ConnectedStore.open(config, StoreHooks.SYSTEM, link));
        assertEquals(ErrorCode.FILE_OPEN_FAIL, refusal.code(), refusal.getMessage());
        assertTrue(refusal.getMessage().contains("c1"), refusal.getMessage());
    }

    /** The folder of another host, where something else is mounted, or nothing. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldRefuseAClientThatHasAnotherVolumeThanTheOthers(final boolean marked) throws IOException {
        final ConnectedStore first = reader();
        final UUID theirs = ClusterMarker.read(folder).volume();
        final Path marker = folder.resolve(ClusterMarker.FILE_NAME);
        Files.delete(marker);
        final UUID mine = marked ? ClusterMarker.claim(folder, "c1").volume() : null;

        final StoreException refusal = assertThrows(StoreException.class, this::reader);
        assertTrue(refusal.getMessage().contains("volume " + theirs), refusal.getMessage());
        assertTrue(refusal.getMessage().contains(marked ? "volume " + mine : "has no kvtier.cluster"),
            refusal.getMessage());
        assertEquals(marked, Files.exists(marker), "none is made");
        assertEquals(0, first.stats().objects());
    }

    /** Where it is elsewhere than the others, it would say that their right bytes are wrong. */
    @Test
    void shouldReadNothingThereWhileTheMasterRefusesItsVolume() {
        final ConnectConfig config = cluster.config().sharedDisk(shared()).build();
        final FaultyLink link = new FaultyLink(config);
        final AtomicBoolean elsewhere = new AtomicBoolean();
        final AtomicInteger refused = new AtomicInteger();
        link.fault(new FaultyLink.Fault() {
            @Override
            public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                if (exchange.command() instanceof MountDistributedDisk && elsewhere.get()) {
                    refused.incrementAndGet();
                    throw new StoreException(ErrorCode.INVALID_PARAMS, "another volume");
                }
                return exchange.pass();
            }
        });
        try (ConnectedStore store = ConnectedStore.open(config, StoreHooks.SYSTEM, link)) {
            elsewhere.set(true);
            cluster.restartMaster(settings(layout()));
            // The second time it tries what it was refused the first time.
            Threads.awaitUntil(() -> refused.get() > 1, refused::get);
            leave(VALUE);
            assertEquals(GetOutcome.MISS, store.get(KEY, MemorySegment.ofArray(new byte[SIZE])));
            assertEquals(List.of(ReplicaType.DISTRIBUTED_DISK), tiers(store, KEY), "the others read it");
            elsewhere.set(false);
            Threads.awaitUntil(() -> store.getBytes(KEY).isPresent(), () -> tiers(store, KEY));
            assertArrayEquals(VALUE, get(store, KEY, SIZE));
        }
    }

    /** Files that are there under the same names, of an earlier time, or of another cluster. */
    @Test
    void shouldNotTellTheMasterOfWrongBytesWhereAnotherFileSystemIsMounted() throws IOException {
        leave(VALUE);
        final ConnectedStore reader = reader();
        final DistributedDisk place = place(reader);
        final Path away = Files.move(folder, temporary.resolve("away"));
        Files.createDirectory(folder);
        ClusterMarker.claim(folder, "c1");
        Files.write(Path.of(place.filePath()), new byte[(int) BUCKET]);

        assertEquals(GetOutcome.MISS, reader.get(KEY, MemorySegment.ofArray(new byte[SIZE])));
        assertEquals(List.of(ReplicaType.DISTRIBUTED_DISK), tiers(reader, KEY), "the others read it");
        assertEquals(0, reader.stats().unreadable().checksumMismatches());
        assertEquals(1, reader.stats().sharedDisk().reads().failures());

        Files.move(folder, temporary.resolve("wrong"));
        Files.move(away, folder);
        assertArrayEquals(VALUE, get(reader, KEY, SIZE));
    }

    @Test
    void shouldReadWhereNothingCanBeWritten() throws Exception {
        leave(VALUE);
        try (Mounts mount = Mounts.readOnly(folder, folder)) {
            final StoreException refusal = assertThrows(StoreException.class, this::reader);
            assertTrue(refusal.getMessage().contains("EROFS")
                && refusal.getMessage().contains("MOONCAKE_DISTRIBUTED_READ_ONLY"), refusal.getMessage());
            try (ConnectedStore reader = cluster.join(config -> config.memoryBytes(1 << 20)
                .sharedDisk(shared().withReadOnly(true)))) {
                assertArrayEquals(VALUE, get(reader, KEY, SIZE), mount.at().toString());
                final byte[] part = new byte[10];
                assertTrue(reader.getRangeBatch(List.of(new Store.Part(KEY, 3,
                    List.of(MemorySegment.ofArray(part))))).getFirst().orThrow().hit());
                assertArrayEquals(Arrays.copyOfRange(VALUE, 3, 13), part);
                put(reader, key(1), VALUE);
                assertArrayEquals(VALUE, reader.getBytes(key(1)).orElseThrow(), "in its memory");
                assertEquals(0, reader.stats().sharedDisk().writes().failures());
            }
        }
    }

    @Test
    void shouldReadFromMemoryWhileThereIsSome() {
        final ConnectedStore writer = cluster.join(config -> config.memoryBytes(16 << 20).sharedDisk(shared()));
        put(writer, KEY, VALUE);
        awaitShared(writer, KEY);
        assertEquals(ReplicaType.MEMORY, reader().get(KEY, MemorySegment.ofArray(new byte[SIZE])).tier());
    }

    @Test
    void shouldReadIntoPiecesOfAnyKindOfMemory() {
        leave(VALUE);
        final ConnectedStore reader = reader();
        try (Arena shared = Arena.ofShared(); Arena confined = Arena.ofConfined()) {
            final MemorySegment[] pieces = {shared.allocate(10_001).asSlice(1), confined.allocate(5),
                MemorySegment.ofArray(new byte[7_777]), shared.allocate(0), shared.allocate(SIZE)};
            assertEquals(ReplicaType.DISTRIBUTED_DISK, reader.get(KEY, pieces).tier());
            final byte[] all = new byte[SIZE];
            int at = 0;
            for (final MemorySegment piece : pieces) {
                final long count = Math.min(piece.byteSize(), SIZE - at);
                MemorySegment.copy(piece, 0, MemorySegment.ofArray(all), at, count);
                at += (int) count;
            }
            assertArrayEquals(VALUE, all);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldReadPartsOfAValue(final boolean verify) {
        leave(VALUE);
        final ConnectedStore reader = cluster.join(config -> config.sharedDisk(shared()).verify(verify));
        for (final int[] part : new int[][] {{0, SIZE}, {0, 1}, {4095, 2}, {8192, 4096}, {12_345, 10_000},
            {SIZE - 1, 1}, {SIZE, 0}}) {
            final byte[] bytes = new byte[part[1]];
            assertEquals(new GetOutcome(true, SIZE, ReplicaType.DISTRIBUTED_DISK),
                reader.getRange(KEY, part[0], MemorySegment.ofArray(bytes)));
            assertArrayEquals(Arrays.copyOfRange(VALUE, part[0], part[0] + part[1]), bytes);
        }
        final long read = reader.stats().sharedDisk().reads().readBytes();
        assertTrue(verify ? read >= 6L * SIZE : read == SIZE + 1 + 2 + 4096 + 10_000 + 1, () -> "read " + read
            + " bytes: what is compared with its checksum is read whole");
    }

    @Test
    void shouldReadBatchesOfValuesAndParts() {
        final byte[][] values = IntStream.range(0, 60).mapToObj(i -> PatternBytes.of(i, 4096 * (i % 5) + i + 1))
            .toArray(byte[][]::new);
        leave(values);
        final ConnectedStore reader = reader();
        final byte[][] found = new byte[values.length][];
        final List<BatchResult<GetOutcome>> outcomes = reader.getBatch(IntStream.range(0, values.length)
            .mapToObj(i -> new Store.Item(key(i), List.of(MemorySegment.ofArray(found[i] =
                new byte[values[i].length])))).toList());
        for (int i = 0; i < values.length; i++) {
            assertEquals(new GetOutcome(true, values[i].length, ReplicaType.DISTRIBUTED_DISK),
                outcomes.get(i).orThrow());
            assertArrayEquals(values[i], found[i], "value " + i);
        }
        final byte[] part = new byte[10];
        assertTrue(reader.getRangeBatch(List.of(new Store.Part(key(9), 3, List.of(MemorySegment.ofArray(part)))))
            .getFirst().orThrow().hit());
        assertArrayEquals(Arrays.copyOfRange(values[9], 3, 13), part);
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldReadIntoRegionsAlsoOfAGpu(final Kind kind) {
        leave(VALUE);
        final ConnectedStore reader = reader();
        try (SimulatedBuffers gpu = new SimulatedBuffers(devices.memory());
            CallerMemory memory = new CallerMemory(gpu, SIZE, temporary);
            CallerMemory some = new CallerMemory(gpu, 5_000, temporary)) {
            assertEquals(ReplicaType.DISTRIBUTED_DISK, reader.get(KEY, memory.ranges(kind)).tier());
            assertArrayEquals(VALUE, memory.content(memory.ranges(kind)));
            assertTrue(reader.getRange(KEY, 4_000, some.ranges(kind)).hit());
            assertArrayEquals(Arrays.copyOfRange(VALUE, 4_000, 9_000), some.content(some.ranges(kind)));
            memory.clear();
            assertTrue(reader.getRegionBatch(List.of(new RegionItem(KEY, memory.ranges(kind)))).getFirst().orThrow()
                .hit());
            assertArrayEquals(VALUE, memory.content(memory.ranges(kind)));
            assertTrue(reader.getRegionRangeBatch(List.of(new RegionPart(KEY, 1, some.ranges(kind)))).getFirst()
                .orThrow().hit());
            assertArrayEquals(Arrays.copyOfRange(VALUE, 1, 5_001), some.content(some.ranges(kind)));
        }
    }

    /** As a writer that was given up, or a master that came back with an older snapshot, leaves it. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldTakeWrongBytesForAMissAndSaySo(final boolean part) throws IOException {
        leave(VALUE);
        final ConnectedStore reader = reader();
        final DistributedDisk place = place(reader);
        write(Path.of(place.filePath()), place.offset() + 20_000, new byte[] {(byte) ~VALUE[20_000]});

        final byte[] bytes = new byte[part ? 10 : SIZE];
        assertEquals(GetOutcome.MISS, part ? reader.getRange(KEY, 5, MemorySegment.ofArray(bytes))
            : reader.get(KEY, MemorySegment.ofArray(bytes)));
        assertEquals(Optional.empty(), reader.stat(KEY), "the master was told");
        assertEquals(2, reader.stats().unreadable().checksumMismatches(), "it looked twice");
    }

    /** What another host has written may not be seen at once in a file that was open here before. */
    @Test
    void shouldLookASecondTimeAtBytesThatAreWrong() throws IOException {
        leave(VALUE);
        final ConnectedStore reader = reader();
        final DistributedDisk place = place(reader);
        final Path file = Path.of(place.filePath());
        write(file, place.offset(), new byte[SIZE]);
        final Logger log = Logger.getLogger("io.kvtier.store.client.read.Reader");
        log.setFilter(said -> {
            try {
                write(file, place.offset(), VALUE);
                return true;
            } catch (final IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        try {
            assertArrayEquals(VALUE, get(reader, KEY, SIZE));
        } finally {
            log.setFilter(null);
        }
        assertEquals(1, reader.stats().unreadable().checksumMismatches());
        assertTrue(reader.stat(KEY).isPresent());
    }

    /** The file system was mounted anew, or the file was restored: the old one is still open. */
    @Test
    void shouldReadTheFileThatTookThePlaceOfOneWithWrongBytes() throws IOException {
        leave(VALUE);
        final ConnectedStore reader = reader();
        assertArrayEquals(VALUE, get(reader, KEY, SIZE));
        final DistributedDisk place = place(reader);
        final Path file = Path.of(place.filePath());
        final Path copy = Files.copy(file, folder.resolve("copy"));
        write(file, place.offset(), new byte[SIZE]);
        Files.move(copy, file, StandardCopyOption.ATOMIC_MOVE);

        assertArrayEquals(VALUE, get(reader, KEY, SIZE));
        assertArrayEquals(VALUE, get(reader, KEY, SIZE));
    }

    @Test
    void shouldKeepAValueThatThisClientCannotReadJustNow() throws IOException {
        leave(VALUE);
        final Faults faults = new Faults();
        final ConnectedStore reader = reader(faults);
        final Path file = Path.of(place(reader).filePath());
        final Path away = Files.move(file, folder.resolve("away"));
        assertEquals(GetOutcome.MISS, reader.get(KEY, MemorySegment.ofArray(new byte[SIZE])));
        Files.move(away, file);
        assertArrayEquals(VALUE, get(reader, KEY, SIZE), "it is there again, and the master has not forgotten it");
        faults.failNth(Faults.Call.READ, 1, Errno.EIO);
        reader.get(KEY, MemorySegment.ofArray(new byte[SIZE]));
        assertArrayEquals(VALUE, get(reader, KEY, SIZE));
    }

    @Test
    void shouldMissWhatAClientWithoutTheSharedDiskCannotReach() {
        leave(VALUE);
        final ConnectedStore other = cluster.join(config -> config);
        assertEquals(GetOutcome.MISS, other.get(KEY, MemorySegment.ofArray(new byte[SIZE])));
        assertEquals(StoreStats.SharedDiskStats.NONE, other.stats().sharedDisk());
        assertArrayEquals(VALUE, get(reader(), KEY, SIZE), "others can");
    }

    @Test
    void shouldWriteToTheSharedDiskBesideADiskOfItsOwn() {
        leave(config -> config.disk(temporary.resolve("own"), 1 << 20), VALUE, PatternBytes.of(2, 100));
        assertArrayEquals(VALUE, get(reader(), KEY, SIZE));
    }

    /** One client reads it often, and another one has the memory. */
    @Test
    void shouldCopyAValueThatIsReadOftenToMemory() {
        try (Cluster other = new Cluster(settings(layout(), new MasterSettings.Promotion(true, 1, 100)))) {
            try (ConnectedStore writer =
                other.join(config -> config.memoryBytes(16 << 20).sharedDisk(shared()))) {
                put(writer, KEY, VALUE);
                awaitShared(writer, KEY);
            }
            final ConnectedStore lender = other.join(config -> config.memoryBytes(16 << 20));
            final ConnectedStore reader = other.join(config -> config.sharedDisk(shared()));
            assertArrayEquals(VALUE, get(reader, KEY, SIZE));
            Threads.awaitUntil(() -> tiers(reader, KEY).contains(ReplicaType.MEMORY), () -> tiers(reader, KEY));
            for (final Store store : List.of(reader, lender)) {
                final byte[] bytes = new byte[SIZE];
                assertEquals(new GetOutcome(true, SIZE, ReplicaType.MEMORY),
                    store.get(KEY, MemorySegment.ofArray(bytes)));
                assertArrayEquals(VALUE, bytes);
            }
        }
    }

    @Test
    void shouldDoWithoutWhereTheMasterHasNoPageMode() {
        final PageLayout none = null;
        try (Cluster other = new Cluster(settings(none))) {
            final ConnectedStore store = other.join(config -> config.memoryBytes(1 << 20).sharedDisk(shared()));
            put(store, KEY, VALUE);
            assertEquals(ReplicaType.MEMORY, store.get(KEY, MemorySegment.ofArray(new byte[SIZE])).tier());
        }
        assertFalse(Files.exists(folder.resolve("bucket_00.data")), "nothing was made");
    }

    @Test
    void shouldRefuseAnotherLayoutThanTheMasters() {
        final StoreException refused = assertThrows(StoreException.class, () -> cluster.join(config ->
            config.sharedDisk(shared().in(folder.toString(), BUCKETS, 2 * PAGE, BUCKET))));
        assertEquals(ErrorCode.INVALID_PARAMS, refused.code());
        assertTrue(refused.getMessage().contains("page size"), refused::getMessage);
    }

    @Test
    void shouldNotBeOpenedWhereTheFolderWillNotDo() throws IOException {
        ClusterMarker.claim(folder, "other");
        final StoreException refused = assertThrows(StoreException.class, this::reader);
        assertEquals(ErrorCode.FILE_OPEN_FAIL, refused.code());
        assertTrue(refused.getMessage().contains("of cluster 'other'"), refused::getMessage);
        assertFalse(Files.exists(folder.resolve("bucket_00.data")), "nothing was made");
        cluster.join(config -> config.sharedDisk(shared().withHealthCheck(false)));
        assertTrue(Files.exists(folder.resolve("bucket_00.data")), "who does not want to look, does not");
        Files.delete(folder.resolve("kvtier.cluster"));
        reader();
        assertEquals("c1", ClusterMarker.read(folder).cluster());
    }
}
