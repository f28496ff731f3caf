package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.SharedRegion;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.Faults;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.DataType;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.client.owner.OwnerInside;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaStatus;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.HostPort;
import io.kvtier.transport.SharedSecret;
import io.kvtier.transport.rpc.RpcServer;
import io.kvtier.transport.rpc.RpcServerConfig;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Several clients of one master: what they see of one another, and what happens when one of them goes. */
@ExtendWith(LeakCheck.class)
class ConnectedStoreTest {
    private static final int UNIT = 4096;
    private static final ObjectKey KEY = ObjectKey.of("key");

    private static final UUID WRITER = UUID.randomUUID();

    @TempDir
    private Path directory;
    private Cluster cluster;

    @BeforeEach
    void start() {
        cluster = new Cluster(Cluster.settings(1, 0));
    }

    @AfterEach
    void close() {
        cluster.close();
    }

    @Test
    void shouldShowOneClientWhatAnotherPut() {
        final Store one = cluster.join(config -> config.memoryBytes(1 << 20).shm(false));
        final Store two = cluster.join(config -> config.memoryBytes(1 << 20).shm(false));
        final List<Store.Item> items = IntStream.range(0, 100).mapToObj(i -> Store.Item.of(key(i),
            MemorySegment.ofArray(PatternBytes.of(i, 100 * i)))).toList();
        assertTrue(one.putBatch(items).stream().allMatch(result -> result.orThrow() == PutOutcome.STORED));
        assertHas(two, 0, 100);
        assertHas(one, 0, 100);
        two.remove(key(50), true);
        assertEquals(GetOutcome.MISS, one.get(key(50), room(5000)));
        assertEquals(99, one.stats().objects());
    }

    @Test
    void shouldWriteAllReplicasAndReadAnother() {
        final ConnectedStore one = cluster.join(config -> config.name("one").memoryBytes(1 << 20).shm(false));
        cluster.join(config -> config.name("two").memoryBytes(1 << 20));
        final ConnectedStore three = cluster.join(config -> config.name("three").memoryBytes(1 << 20).shm(false));
        final byte[] value = PatternBytes.of(1, 100_000);
        assertEquals(PutOutcome.STORED, one.put(KEY, PutOptions.DEFAULT.withReplicas(3), MemorySegment.ofArray(value)));
        assertEquals(3, one.masterStats().memoryReplicas());
        // Each of them has a copy of its own.
        one.close();
        assertArrayEquals(value, three.getBytes(KEY).orElseThrow());
        cluster.join(config -> config.name("four"));
        assertArrayEquals(value, cluster.join(config -> config.name("five").shm(true)).getBytes(KEY).orElseThrow());
    }

    @Test
    void shouldPreferTheSegmentThatIsNamed() {
        cluster.join(config -> config.segmentName("left").memoryBytes(1 << 20).shm(false));
        final ConnectedStore right = cluster.join(config -> config.segmentName("right").memoryBytes(1 << 20)
            .shm(false));
        final Store client = cluster.join(config -> config);
        for (int i = 0; i < 10; i++) {
            client.put(key(i), PutOptions.DEFAULT.withPreferredSegments("left"), room(1000));
        }
        right.close();
        assertTrue(client.existsBatch(IntStream.range(0, 10).mapToObj(ConnectedStoreTest::key).toList()).stream()
            .allMatch(BatchResult::orThrow));
    }

    @Test
    void shouldMissWhatAClientTookWithIt() {
        final Store node = cluster.join(config -> config.memoryBytes(1 << 20).shm(false));
        final Store client = cluster.join(config -> config);
        client.put(KEY, MemorySegment.ofArray(PatternBytes.of(1, 5000)));
        assertTrue(client.get(KEY, room(5000)).hit());
        node.close();
        assertEquals(GetOutcome.MISS, client.get(KEY, room(5000)));
        assertEquals(PutOutcome.NO_SPACE, client.put(KEY, room(1)), "nobody lends memory");
        cluster.join(config -> config.memoryBytes(1 << 20));
        assertEquals(PutOutcome.STORED, client.put(KEY, room(1)));
    }

    @Test
    void shouldTakeAnotherReplicaWhenBytesAreWrong() {
        final ConnectedStore first = cluster.join(config -> config.memoryBytes(1 << 20).shm(true));
        final ConnectedStore second = cluster.join(config -> config.memoryBytes(1 << 20).shm(true));
        final ConnectedStore client = cluster.join(config -> config);
        final byte[] value = PatternBytes.of(1, 50_000);
        assertEquals(PutOutcome.STORED, client.put(KEY, PutOptions.DEFAULT.withReplicas(2).withChecksum(true),
            MemorySegment.ofArray(value)));
        client.put(key(1), PutOptions.DEFAULT.withReplicas(2), MemorySegment.ofArray(value));
        damage(first, value);
        assertArrayEquals(value, client.getBytes(KEY).orElseThrow());
        final MemorySegment target = room(50_000);
        assertTrue(client.getBatch(List.of(Store.Item.of(KEY, target))).getFirst().orThrow().hit());
        assertArrayEquals(value, PatternBytes.copyOf(target));
        damage(second, value);
        assertEquals(GetOutcome.MISS, client.get(KEY, room(50_000)), "no replica is left that is right");
        assertTrue(client.stats().unreadable().checksumMismatches() >= 2);
        final Store careless = cluster.join(config -> config.verify(false));
        assertTrue(careless.get(KEY, room(50_000)).hit());
        assertTrue(client.get(key(1), room(50_000)).hit(), "it has no checksum");
    }

    /** A copy on a disk would be compared with a checksum of its own. */
    @Test
    void shouldNotVouchOnDiskForWhatWasDamagedInMemory() {
        final ConnectedStore node = cluster.join(config -> config.memoryBytes(64 * UNIT).disk(directory, 4 << 20)
            .shm(true));
        final ConnectedStore client = cluster.join(config -> config);
        final byte[] value = PatternBytes.of(1, 3 * UNIT);
        assertEquals(PutOutcome.STORED, client.put(KEY, PutOptions.DEFAULT.withChecksum(true),
            MemorySegment.ofArray(value)));
        damage(node, value);
        client.parts().master().apply(new AdminCommand.Evict(1, 1));
        awaitQuiet(client);
        for (final Store reader : List.of(client, node)) {
            assertEquals(GetOutcome.MISS, reader.get(KEY, room(value.length)));
        }
        await(() -> node.parts().disk().values() == 0);
    }

    /** With promotion_on_hit: others read it often, so it comes back to memory, by its owner. */
    @Test
    void shouldBringBackWhatOthersReadOftenFromADisk() {
        try (Cluster other = new Cluster(Cluster.settings(1, 0).withPages(new MasterSettings.Pages(null, "c", 0.9, 0.2,
            false, new MasterSettings.Promotion(true, 2, 10))))) {
            final ConnectedStore node = other.join(config -> config.memoryBytes(64 * UNIT).disk(directory, 4 << 20)
                .shm(false));
            final ConnectedStore client = other.join(config -> config);
            final byte[] value = PatternBytes.of(1, 3 * UNIT + 5);
            StoreContract.put(client, KEY, value);
            client.parts().master().apply(new AdminCommand.Evict(1, 1));
            await(() -> client.stat(KEY).orElseThrow().tiers().equals(List.of(ReplicaType.LOCAL_DISK)));
            final long hits = node.stats().disk().hits();
            for (int i = 0; i < 2; i++) {
                assertEquals(ReplicaType.LOCAL_DISK, client.get(KEY, room(value.length)).tier());
            }
            await(() -> client.stat(KEY).orElseThrow().tiers().contains(ReplicaType.MEMORY));
            final MemorySegment target = room(value.length);
            assertEquals(new GetOutcome(true, value.length, ReplicaType.MEMORY), client.get(KEY, target));
            assertArrayEquals(value, PatternBytes.copyOf(target));
            assertEquals(1, client.stats().promotions());
            assertEquals(hits + 2, node.stats().disk().hits(), "nobody asked for the third read");
            assertEquals(0, client.masterStats().activePromotions());
        }
    }

    @Test
    void shouldReadTheDiskOfAnotherClientAndLeaveItThere() {
        final Faults faults = new Faults();
        final ConnectedStore node = cluster.join(config -> config.memoryBytes(64 * UNIT).disk(directory, 4 << 20)
            .stagingBytes(4 * UNIT).shm(false), faults);
        final ConnectedStore client = cluster.join(config -> config);
        final byte[] value = PatternBytes.of(1, 3 * UNIT + 5);
        StoreContract.put(client, KEY, value);
        for (int i = 0; i < 20; i++) {
            StoreContract.put(client, key(i), PatternBytes.of(i, UNIT + i));
        }
        StoreContract.fillUntilOnDisk(client, KEY, 64 * UNIT);
        for (int i = 0; i < 3; i++) {
            final MemorySegment target = room(value.length);
            assertEquals(new GetOutcome(true, value.length, ReplicaType.LOCAL_DISK), client.get(KEY, target));
            assertArrayEquals(value, PatternBytes.copyOf(target));
        }
        assertEquals(0, client.stats().promotions(), "a reader elsewhere does not promote");
        // More than the owner's memory for readers at once: they take turns.
        final List<Store.Item> items = IntStream.range(0, 20).mapToObj(i -> Store.Item.of(key(i), room(UNIT + i)))
            .toList();
        final List<BatchResult<GetOutcome>> results = client.getBatch(items);
        for (int i = 0; i < 20; i++) {
            assertTrue(results.get(i).orThrow().hit(), "item " + i);
            assertArrayEquals(PatternBytes.of(i, UNIT + i), PatternBytes.copyOf(items.get(i).memory().getFirst()));
        }
        assertArrayEquals(value, node.getBytes(KEY).orElseThrow());
        assertEquals(1, client.stats().promotions(), "the owner does");
    }

    @Test
    void shouldMissWhatTheOwnerCannotReadAndForgetIt() {
        final Faults faults = new Faults();
        cluster.join(config -> config.memoryBytes(64 * UNIT).disk(directory, 4 << 20).shm(false), faults);
        final ConnectedStore client = cluster.join(config -> config);
        StoreContract.put(client, KEY, PatternBytes.of(1, 5000));
        StoreContract.fillUntilOnDisk(client, KEY, 64 * UNIT);
        awaitQuiet(client);
        faults.failAlways(Faults.Call.READ, Errno.EIO);
        assertEquals(GetOutcome.MISS, client.get(KEY, room(5000)));
        assertFalse(client.exists(KEY), "the owner has told the master");
    }

    /** What could not be read keeps nothing of the memory into which values are read for others. */
    @Test
    void shouldReadForOthersInLittleMemoryAfterAReadThatFailed() {
        final Faults faults = new Faults();
        cluster.join(config -> config.memoryBytes(64 * UNIT).disk(directory, 4 << 20).stagingBytes(2 * UNIT)
            .shm(false), faults);
        final ConnectedStore client = cluster.join(config -> config);
        final byte[] value = PatternBytes.of(2, UNIT + 1);
        StoreContract.put(client, KEY, PatternBytes.of(1, UNIT + 1));
        StoreContract.put(client, key(1), value);
        StoreContract.fillUntilOnDisk(client, KEY, 64 * UNIT);
        StoreContract.fillUntilOnDisk(client, key(1), 64 * UNIT);
        awaitQuiet(client);
        faults.failNth(Faults.Call.READ, 1, Errno.EIO);
        assertEquals(GetOutcome.MISS, client.get(KEY, room(UNIT + 1)));
        final MemorySegment target = room(UNIT + 1);
        assertTrue(client.get(key(1), target).hit());
        assertArrayEquals(value, PatternBytes.copyOf(target));
    }

    @Test
    void shouldReadAnEmptyValueFromTheDiskOfAnotherClient() {
        cluster.join(config -> config.memoryBytes(64 * UNIT).disk(directory, 4 << 20).shm(false));
        final ConnectedStore client = cluster.join(config -> config);
        StoreContract.put(client, KEY, new byte[0]);
        StoreContract.fillUntilOnDisk(client, KEY, 64 * UNIT);
        assertEquals(new GetOutcome(true, 0, ReplicaType.LOCAL_DISK), client.get(KEY, room(0)));
    }

    @Test
    void shouldEndItsConnectionsToOwnersOfDisksWhenClosed() throws IOException {
        try (RpcServer owner = RpcServer.start(RpcServerConfig.loopback(0),
            OwnerInside::replyGone)) {
            final ReadReply there = new ReadReply(1, 10, List.of(new Replica(1, ReplicaStatus.COMPLETE,
                new ReplicaDescriptor.LocalDisk(new UUID(3, 4), 10,
                    HostPort.of(null, owner.address()).toString()))), 0, false, 0, 600_000, DataType.UNKNOWN);
            final ConnectConfig config = cluster.config().build();
            final FaultyLink link = new FaultyLink(config);
            link.fault(new FaultyLink.Fault() {
                @Override
                public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                    return exchange.change(ReadReply.class, reply -> there);
                }
            });
            try (ConnectedStore client = ConnectedStore.open(config, StoreHooks.SYSTEM, link)) {
                assertEquals(GetOutcome.MISS, client.get(KEY, room(10)));
                assertEquals(1, owner.connections());
            }
            await(() -> owner.connections() == 0);
        }
    }

    @Test
    void shouldMissWhatIsTooLargeForTheOwnersMemory() {
        cluster.join(config -> config.memoryBytes(64 * UNIT).disk(directory, 4 << 20).stagingBytes(UNIT).shm(false));
        final ConnectedStore client = cluster.join(config -> config);
        StoreContract.put(client, KEY, PatternBytes.of(1, UNIT + 1));
        StoreContract.fillUntilOnDisk(client, KEY, 64 * UNIT);
        assertEquals(GetOutcome.MISS, client.get(KEY, room(UNIT + 1)));
        assertTrue(client.exists(KEY), "another reader, or its owner, can read it");
    }

    @Test
    void shouldLendAnewWhenTheMasterHasForgotten() {
        final ConnectedStore node = cluster.join(config -> config.memoryBytes(64 * UNIT).disk(directory, 4 << 20)
            .shm(false));
        final ConnectedStore client = cluster.join(config -> config);
        final byte[] value = PatternBytes.of(1, 3 * UNIT + 5);
        StoreContract.put(client, KEY, value);
        StoreContract.put(client, key(1), value);
        StoreContract.fillUntilOnDisk(client, KEY, 64 * UNIT);
        awaitQuiet(client);
        final List<String> before = node.addresses();
        cluster.restartMaster(Cluster.settings(1, 0));
        await(() -> client.exists(KEY));
        assertArrayEquals(value, client.getBytes(KEY).orElseThrow(), "what is on the disk is known again");
        await(() -> StoreContract.put(client, key(77), value) == PutOutcome.STORED);
        assertArrayEquals(value, client.getBytes(key(77)).orElseThrow());
        assertNotEquals(before.getFirst(), node.addresses().getFirst(), "memory has a new identity");
    }

    /** Shared memory is found by one call of the system, which would keep the carrier of a virtual thread. */
    @Test
    void shouldLendAnewOnAPlatformThreadWhenTheMasterHasForgotten() {
        final ConnectConfig config = cluster.config().memoryBytes(64 * UNIT).build();
        final FaultyLink link = new FaultyLink(config);
        final List<Thread> lending = new CopyOnWriteArrayList<>();
        link.fault(new FaultyLink.Fault() {
            @Override
            public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                if (exchange.command() instanceof SegmentCommand.Mount) {
                    lending.add(Thread.currentThread());
                }
                return exchange.pass();
            }
        });
        try (ConnectedStore node = ConnectedStore.open(config, StoreHooks.SYSTEM, link)) {
            cluster.restartMaster(Cluster.settings(1, 0));
            await(() -> lending.size() > 1);
            assertFalse(lending.getLast().isVirtual(), () -> node.addresses() + " lent by " + lending.getLast());
        }
    }

    /** A node that was killed leaves its memory in the folder: the next one would find no room. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldRemoveWhatDeadProcessesLeftOfSharedMemoryBeforeItMakesSome(final boolean disk) throws IOException {
        final Path left = SharedRegion.DEFAULT_DIRECTORY.resolve("kvtier-1-"
            + HexFormat.of().toHexDigits(System.nanoTime()));
        Files.write(left, new byte[UNIT]);
        try {
            cluster.join(config -> (disk ? config.disk(directory, 16 * UNIT) : config.memoryBytes(4 * UNIT)).shm(true));
            assertFalse(Files.exists(left));
        } finally {
            Files.deleteIfExists(left);
        }
    }

    @Test
    void shouldRemoveFromDiskWhatAnotherClientRemoved() {
        final ConnectedStore node = cluster.join(config -> config.memoryBytes(64 * UNIT).disk(directory, 4 << 20)
            .shm(false));
        final ConnectedStore client = cluster.join(config -> config);
        StoreContract.put(client, KEY, PatternBytes.of(1, 3 * UNIT));
        StoreContract.fillUntilOnDisk(client, KEY, 64 * UNIT);
        client.removeAll("", true);
        await(() -> node.parts().disk().values() == 0);
        StoreContract.put(client, KEY, PatternBytes.of(2, 3 * UNIT));
        StoreContract.fillUntilOnDisk(client, KEY, 64 * UNIT);
        client.upsert(KEY, PutOptions.DEFAULT, MemorySegment.ofArray(PatternBytes.of(3, 10)));
        assertArrayEquals(PatternBytes.of(3, 10), client.getBytes(KEY).orElseThrow());
        client.removeAll("", true);
        await(() -> node.parts().disk().values() == 0);
    }

    @Test
    void shouldWaitForRoomAtTheMaster() {
        cluster.join(config -> config.memoryBytes(4 * UNIT).shm(false));
        final ConnectedStore client = cluster.join(config -> config.putTimeoutMs(600_000));
        final PutStartReply.Started writing = startOnly(client, 4 * UNIT);
        final CompletableFuture<PutOutcome> put =
            Threads.start(() -> StoreContract.put(client, key(1), PatternBytes.of(1, UNIT)));
        await(() -> client.stats().putWaits() == 1);
        client.parts().master().apply(new ObjectCommand.PutRevoke(WRITER, KEY, writing.version(), Scope.ALL));
        assertEquals(PutOutcome.STORED, put.join());
        assertArrayEquals(PatternBytes.of(1, UNIT), client.getBytes(key(1)).orElseThrow());
    }

    @Test
    void shouldEndWaitingPutsWhenClosed() {
        cluster.join(config -> config.memoryBytes(4 * UNIT).shm(false));
        final ConnectedStore client = cluster.join(config -> config.putTimeoutMs(600_000));
        startOnly(client, 4 * UNIT);
        final CompletableFuture<PutOutcome> put =
            Threads.start(() -> StoreContract.put(client, key(1), PatternBytes.of(1, UNIT)));
        await(() -> client.stats().putWaits() == 1);
        client.close();
        final Throwable why = assertThrows(RuntimeException.class, put::join).getCause();
        assertEquals(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, ((StoreException) why).code());
    }

    /** A put of somebody who does not end it. */
    private static PutStartReply.Started startOnly(final ConnectedStore client, final long size) {
        return assertInstanceOf(PutStartReply.Started.class, client.parts().master().apply(
            new ObjectCommand.PutStart(WRITER, 1, KEY, size, PutOptions.DEFAULT, false)));
    }

    @Test
    void shouldCloseWhileCallsAreUnderWay() {
        for (int round = 0; round < 5; round++) {
            final ConnectedStore node = cluster.join(config -> config.memoryBytes(4 << 20)
                .disk(directory, 8 << 20).shm(false));
            final ConnectedStore client = cluster.join(config -> config);
            final List<CompletableFuture<Void>> threads = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                final int seed = thread;
                final Store store = thread % 2 == 0 ? node : client;
                threads.add(Threads.start(() -> hammer(store, seed)));
            }
            await(() -> client.stats().memory().hits() > 20);
            client.close();
            node.close();
            threads.forEach(CompletableFuture::join);
        }
    }

    /** Until the store is closed; whatever is read must be right. */
    private static void hammer(final Store store, final int seed) {
        for (int i = 0;; i++) {
            final int number = (i * 7 + seed) % 50;
            final byte[] value = PatternBytes.of(number, 20_000 + number);
            try {
                StoreContract.put(store, key(number), value);
                final MemorySegment target = room(value.length);
                if (store.get(key(number), target).hit()) {
                    assertArrayEquals(value, PatternBytes.copyOf(target));
                }
            } catch (final StoreException e) {
                if (e.code() == ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS) {
                    return;
                }
                assertEquals(ErrorCode.TRANSFER_FAIL, e.code(), e.getMessage());
            }
        }
    }

    @Test
    void shouldWantTheSecretEverywhere() {
        final SharedSecret secret = SharedSecret.of("0123456789abcdef0123456789abcdef");
        // The master of this test has none; a client that shows one is refused, and told so.
        final StoreException e = assertThrows(StoreException.class,
            () -> cluster.join(config -> config.secret(secret).timeouts(500, 500)));
        assertTrue(e.getMessage().contains("127.0.0.1:" + cluster.port()), e.getMessage());
    }

    @Test
    void shouldSayThatNoMasterAnswers() {
        final int port = cluster.port();
        cluster.closeMaster();
        final StoreException e = assertThrows(StoreException.class,
            () -> cluster.join(config -> config.timeouts(300, 300)));
        assertTrue(e.getMessage().contains("127.0.0.1:" + port) && e.getMessage().contains("kvtier master"),
            e.getMessage());
    }

    @Test
    void shouldUseItsTenantForKeysThatNameNone() {
        cluster.join(config -> config.memoryBytes(1 << 20).shm(false));
        final Store mine = cluster.join(config -> config.tenant("mine"));
        final Store plain = cluster.join(config -> config);
        StoreContract.put(mine, KEY, PatternBytes.of(1, 10));
        assertFalse(plain.exists(KEY));
        assertTrue(plain.exists(ObjectKey.of("mine", "key")));
        assertEquals(List.of(new Store.Found(ObjectKey.of("mine", "key"), 10)), mine.find(ObjectKey.DEFAULT_TENANT,
            ""));
    }

    /** Flips a bit in every copy of a value in memory that a client shares. */
    private static void damage(final ConnectedStore node, final byte[] value) {
        final Path file = Path.of(URI.create(node.addresses().getFirst().replace("shm:", "file:")));
        boolean found = false;
        try (SharedRegion region = SharedRegion.open(file, null)) {
            for (long at = 0; at + value.length <= region.byteSize(); at += UNIT) {
                final MemorySegment place = region.segment().asSlice(at, value.length);
                if (place.mismatch(MemorySegment.ofArray(value)) < 0) {
                    place.set(ValueLayout.JAVA_BYTE, 1234, (byte) ~value[1234]);
                    found = true;
                }
            }
        }
        assertTrue(found, "the value lies in " + file);
    }

    private static void assertHas(final Store store, final int from, final int to) {
        for (int i = from; i < to; i++) {
            assertArrayEquals(PatternBytes.of(i, 100 * i), store.getBytes(key(i)).orElseThrow(), "value " + i);
        }
    }

    /** Until nothing is being copied: a fault that is set next must not hit an offload. */
    private static void awaitQuiet(final ConnectedStore client) {
        await(() -> client.masterStats().offloadsPending() == 0);
    }

    interface Condition {
        boolean holds();
    }

    /** Waits; what the master refuses while it starts is no answer. */
    static void await(final Condition condition) {
        while (true) {
            try {
                if (condition.holds()) {
                    return;
                }
            } catch (final StoreException e) {
                if (e.code() != ErrorCode.RPC_FAIL && e.code() != ErrorCode.RPC_TIMEOUT
                    && e.code() != ErrorCode.TRANSFER_FAIL) {
                    throw e;
                }
            }
            Thread.onSpinWait();
        }
    }

    private static MemorySegment room(final int bytes) {
        return MemorySegment.ofArray(new byte[bytes]);
    }

    private static ObjectKey key(final int i) {
        return ObjectKey.of("key" + i);
    }
}
