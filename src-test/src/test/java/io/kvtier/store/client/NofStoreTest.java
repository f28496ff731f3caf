package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.Faults;
import io.kvtier.kit.Faults.Call;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.LoopDevice;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.nof.NofDevice;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Values on block devices: written beside memory or alone, read by everybody, and what happens when a device fails. */
@ExtendWith(LeakCheck.class)
class NofStoreTest {
    private static final ObjectKey KEY = ObjectKey.of("key");
    private static final byte[] VALUE = PatternBytes.of(1, 3 * 4096 + 5);
    private static final long DEVICE_BYTES = 16 << 20;
    private static final PutOptions NOF_ONLY = PutOptions.DEFAULT.withNofReplicas(1).withReplicas(0);
    private static final PutOptions EITHER = PutOptions.DEFAULT.withNofReplicas(1);
    private static final PutOptions ALL = PutOptions.DEFAULT.withReplicas(2).withNofReplicas(1);
    private static final List<ReplicaType> BOTH = List.of(ReplicaType.MEMORY, ReplicaType.NOF);

    @TempDir
    private Path directory;
    private final Cluster cluster = new Cluster(Cluster.settings(1, 0, 600_000));

    @AfterEach
    void close() {
        cluster.close();
    }

    private Path device(final String name) {
        return directory.resolve(name);
    }

    private ConnectedStore lendDevice() {
        return cluster.join(config -> config.nofDevice(device("device"), DEVICE_BYTES).nofProbe(10, 10_000));
    }

    private ConnectedStore lendMemory(final String name) {
        return cluster.join(config -> config.memoryBytes(4 << 20).name(name).shm(false));
    }

    /** One that lends nothing. */
    private ConnectedStore client() {
        return cluster.join(config -> config);
    }

    private static PutOutcome put(final Store store, final ObjectKey key, final PutOptions options,
        final byte[] value) {
        return store.put(key, options, MemorySegment.ofArray(value));
    }

    private static List<ReplicaType> tiers(final Store store, final ObjectKey key) {
        return store.stat(key).orElseThrow().tiers();
    }

    /** As many bytes in use in memory and on devices, and no write under way. */
    private static void assertUsed(final ConnectedStore client, final long memory, final long devices) {
        final MasterStats stats = client.masterStats();
        assertEquals(List.of(memory, devices, 0L), List.of(stats.memoryUsed(), stats.nofUsed(),
            stats.pendingWrites()));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4095, 4096, 4097, 1_000_000, 3_000_001})
    void shouldReadInAnotherClientWhatLiesOnADevice(final int size) {
        lendDevice();
        final byte[] value = PatternBytes.of(size, size);
        assertEquals(PutOutcome.STORED, put(client(), KEY, NOF_ONLY, value));
        final ConnectedStore reader = client();
        assertEquals(List.of(ReplicaType.NOF), tiers(reader, KEY));
        assertUsed(reader, 0, Math.max(1, (size + 4095) / 4096) * 4096L);
        final MemorySegment target = StoreContract.room(size);
        assertEquals(new GetOutcome(true, size, ReplicaType.NOF), reader.get(KEY, target));
        assertArrayEquals(value, PatternBytes.copyOf(target));
        assertEquals(1, reader.masterStats().gets().nofHits());
    }

    @Test
    void shouldTakeMemoryOfAnyKindInAnyPieces() {
        lendDevice();
        final ConnectedStore client = client();
        final byte[] value = PatternBytes.of(7, 20_000);
        try (Arena shared = Arena.ofShared(); Arena confined = Arena.ofConfined()) {
            final MemorySegment aligned = shared.allocate(20_000, 4096);
            final MemorySegment odd = shared.allocate(20_001, 4096).asSlice(1);
            final MemorySegment own = confined.allocate(20_000);
            for (final MemorySegment one : List.of(aligned, odd, own, MemorySegment.ofArray(new byte[20_000]))) {
                MemorySegment.copy(MemorySegment.ofArray(value), 0, one, 0, value.length);
                final ObjectKey key = ObjectKey.of("one" + one.address());
                assertEquals(PutOutcome.STORED, client.put(key, NOF_ONLY, one));
                assertArrayEquals(value, client.getBytes(key).orElseThrow());
                one.fill((byte) 0);
                assertTrue(client.get(key, one.asSlice(0, 333), one.asSlice(333, 9_000), one.asSlice(9_333)).hit());
                assertArrayEquals(value, PatternBytes.copyOf(one));
            }
            assertEquals(PutOutcome.STORED, client.put(KEY, NOF_ONLY, aligned.asSlice(0, 5_000),
                own.asSlice(5_000, 1), odd.asSlice(5_001)));
            assertArrayEquals(value, client.getBytes(KEY).orElseThrow());
        }
    }

    /** A neighbour is never written to: neither by the rest of a block nor by what is read and written around it. */
    @Test
    void shouldKeepValuesApart() {
        lendDevice();
        final ConnectedStore client = client();
        for (int i = 0; i < 200; i++) {
            assertEquals(PutOutcome.STORED, put(client, ObjectKey.of("k" + i), NOF_ONLY,
                PatternBytes.of(i, 1 + i * 97)));
        }
        for (int i = 1; i < 200; i += 2) {
            client.remove(ObjectKey.of("k" + i));
            assertEquals(PutOutcome.STORED, client.upsert(ObjectKey.of("k" + i), NOF_ONLY,
                MemorySegment.ofArray(PatternBytes.of(-i, 1 + i * 31))));
        }
        for (int i = 0; i < 200; i++) {
            assertArrayEquals(i % 2 == 0 ? PatternBytes.of(i, 1 + i * 97) : PatternBytes.of(-i, 1 + i * 31),
                client.getBytes(ObjectKey.of("k" + i)).orElseThrow());
        }
    }

    @Test
    void shouldPutAndGetBatches() {
        lendDevice();
        lendMemory("m");
        final ConnectedStore client = client();
        final List<Store.Item> items = IntStream.range(0, 100).mapToObj(i -> Store.Item.of(
            ObjectKey.of("k" + i), MemorySegment.ofArray(PatternBytes.of(i, 100 + i * 50)))).toList();
        for (final BatchResult<PutOutcome> result : client.putBatch(items, NOF_ONLY)) {
            assertEquals(PutOutcome.STORED, result.orThrow());
        }
        final List<MemorySegment> rooms = items.stream().map(item -> StoreContract.room((int) item.memory().getFirst()
            .byteSize())).toList();
        final List<Store.Item> targets = IntStream.range(0, 100).mapToObj(i -> Store.Item.of(
            items.get(i).key(), rooms.get(i))).toList();
        for (final BatchResult<GetOutcome> result : client().getBatch(targets)) {
            assertEquals(ReplicaType.NOF, result.orThrow().tier());
        }
        for (int i = 0; i < 100; i++) {
            assertArrayEquals(PatternBytes.of(i, 100 + i * 50), PatternBytes.copyOf(rooms.get(i)));
        }
    }

    @Test
    void shouldPreferMemoryAndGoOnWithTheDeviceWhenMemoryIsGone() {
        lendDevice();
        final ConnectedStore memory = lendMemory("m");
        final ConnectedStore client = client();
        assertEquals(PutOutcome.STORED, put(client, KEY, EITHER, VALUE));
        assertEquals(BOTH, tiers(client, KEY));
        final MemorySegment target = StoreContract.room(VALUE.length);
        assertEquals(ReplicaType.MEMORY, client.get(KEY, target).tier());
        memory.close();
        assertEquals(ReplicaType.NOF, client.get(KEY, target).tier());
        assertArrayEquals(VALUE, PatternBytes.copyOf(target));
    }

    // FLEXIBLE_DUAL: one of each, either side is enough.

    @Test
    void shouldDoWithMemoryWhenTheDeviceFails() {
        lendDevice();
        lendMemory("m");
        final ConnectedStore writer = cluster.join(config -> config, new Faults().failAlways(Call.WRITE, Errno.EIO));
        assertEquals(PutOutcome.STORED, put(writer, KEY, EITHER, VALUE));
        assertEquals(List.of(ReplicaType.MEMORY), tiers(writer, KEY));
        assertUsed(writer, 16_384, 0);
        assertArrayEquals(VALUE, writer.getBytes(KEY).orElseThrow());
        writer.putBatch(List.of(Store.Item.of(ObjectKey.of("b"), MemorySegment.ofArray(VALUE))), EITHER)
            .forEach(result -> assertEquals(PutOutcome.STORED, result.orThrow()));
        assertEquals(List.of(ReplicaType.MEMORY), tiers(writer, ObjectKey.of("b")));
        assertUsed(writer, 32_768, 0);
    }

    @Test
    void shouldDoWithTheDeviceWhenMemoryCannotBeReached() {
        lendDevice();
        loseMemory();
        final ConnectedStore writer = client();
        assertEquals(PutOutcome.STORED, put(writer, KEY, EITHER, VALUE));
        assertEquals(List.of(ReplicaType.NOF), tiers(writer, KEY));
        assertUsed(writer, 0, 16_384);
        assertArrayEquals(VALUE, client().getBytes(KEY).orElseThrow());
    }

    @Test
    void shouldStoreNothingWhenBothSidesFail() {
        lendDevice();
        loseMemory();
        final ConnectedStore writer = cluster.join(config -> config, new Faults().failAlways(Call.WRITE, Errno.EIO));
        final StoreException e = assertThrows(StoreException.class, () -> put(writer, KEY, EITHER, VALUE));
        assertEquals(ErrorCode.TRANSFER_FAIL, e.code());
        assertTrue(e.getMessage().contains("1 replicas in memory and 1 on block devices")
            && e.getMessage().contains("EIO"), e.getMessage());
        assertFalse(writer.exists(KEY));
        assertUsed(writer, 0, 0);
    }

    /** The master goes on giving room in memory that nobody can reach any more, as after a crash of its lender. */
    private void loseMemory() {
        final FaultyLink link = new FaultyLink(cluster.config().build());
        final ConnectedStore lender = ConnectedStore.open(
            cluster.config().memoryBytes(4 << 20).shm(false).build(), StoreHooks.SYSTEM, link);
        link.fault(new FaultyLink.Fault() {
            @Override
            public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                if (exchange.command() instanceof SegmentCommand.Unmount) {
                    throw new StoreException(ErrorCode.RPC_FAIL, "lost");
                }
                return exchange.pass();
            }
        });
        lender.close();
    }

    @Test
    void shouldDoWithEitherSideThatHasRoom() {
        lendDevice();
        final ConnectedStore client = client();
        assertEquals(PutOutcome.STORED, put(client, KEY, EITHER, VALUE));
        assertEquals(List.of(ReplicaType.NOF), tiers(client, KEY));
    }

    // RELIABLE_MULTI: any other mixture, all or nothing.

    @Test
    void shouldWriteAllOfAMixture() {
        lendDevice();
        lendMemory("m");
        lendMemory("n");
        final ConnectedStore client = client();
        assertEquals(PutOutcome.STORED, put(client, KEY, ALL, VALUE));
        assertEquals(BOTH, tiers(client, KEY));
        assertUsed(client, 32_768, 16_384);
        assertArrayEquals(VALUE, client.getBytes(KEY).orElseThrow());
    }

    @Test
    void shouldWriteToSeveralDevices() {
        lendDevice();
        cluster.join(config -> config.nofDevice(device("second"), DEVICE_BYTES));
        final ConnectedStore client = client();
        assertEquals(PutOutcome.STORED, put(client, KEY, NOF_ONLY.withNofReplicas(2), VALUE));
        assertUsed(client, 0, 32_768);
        assertArrayEquals(VALUE, client.getBytes(KEY).orElseThrow());
    }

    /** A device that lost what it has in its cache would else have an earlier value's bytes there. */
    @Test
    void shouldStoreNothingThatIsNotDurableOnEachOfItsDevices() {
        lendDevice();
        cluster.join(config -> config.nofDevice(device("second"), DEVICE_BYTES));
        final Faults faults = new Faults();
        final ConnectedStore client = cluster.join(config -> config, faults);
        assertEquals(PutOutcome.STORED, put(client, KEY, NOF_ONLY.withNofReplicas(2), VALUE));
        assertEquals(2, faults.count(Call.SYNC));
        faults.failNth(Call.SYNC, 2, Errno.EIO);
        assertEquals(ErrorCode.TRANSFER_FAIL, assertThrows(StoreException.class,
            () -> put(client, ObjectKey.of("other"), NOF_ONLY.withNofReplicas(2), VALUE)).code());
        assertFalse(client.exists(ObjectKey.of("other")));
        assertUsed(client, 0, 32_768);
    }

    @Test
    void shouldStoreNothingOfAMixtureWhenMemoryCannotBeReached() {
        lendDevice();
        lendMemory("m");
        loseMemory();
        final ConnectedStore client = client();
        assertEquals(ErrorCode.TRANSFER_FAIL,
            assertThrows(StoreException.class, () -> put(client, KEY, ALL, VALUE)).code());
        assertFalse(client.exists(KEY));
        assertUsed(client, 0, 0);
    }

    /** A call of the writer's files fails, one after the other: either side is enough, or nothing is left of it. */
    @ParameterizedTest
    @EnumSource(value = Call.class, names = {"OPEN", "READ", "WRITE", "SYNC"})
    void shouldKeepTheRulesWhicheverCallFails(final Call call) {
        lendDevice();
        lendMemory("m");
        lendMemory("n");
        for (final PutOptions options : List.of(EITHER, ALL)) {
            int met = 0;
            while (putWithFault(call, met + 1, options)) {
                met++;
            }
            assertTrue(met > 0, call + " was never made");
        }
    }

    /** Whether the call was made that was to fail; the value is gone afterwards. */
    private boolean putWithFault(final Call call, final int n, final PutOptions options) {
        final Faults faults = new Faults().failNth(call, n, Errno.EIO);
        try (ConnectedStore writer = cluster.join(config -> config, faults); Arena arena = Arena.ofShared()) {
            final MemorySegment value = arena.allocate(VALUE.length, 4096);
            MemorySegment.copy(MemorySegment.ofArray(VALUE), 0, value, 0, VALUE.length);
            final MasterStats before = writer.masterStats();
            PutOutcome outcome = null;
            try {
                outcome = writer.put(KEY, options, value);
            } catch (final StoreException e) {
                assertEquals(ErrorCode.TRANSFER_FAIL, e.code(), e.getMessage());
            }
            final boolean met = faults.count(call) >= n;
            final MasterStats after = writer.masterStats();
            assertEquals(0, after.pendingWrites());
            if (met && options == ALL) {
                assertNull(outcome, "all or nothing");
                assertFalse(writer.exists(KEY));
                // Values of earlier rounds may still rest.
                assertTrue(after.memoryUsed() <= before.memoryUsed() && after.nofUsed() <= before.nofUsed());
                return true;
            }
            assertEquals(PutOutcome.STORED, outcome);
            assertEquals(met ? List.of(ReplicaType.MEMORY) : BOTH, tiers(writer, KEY));
            assertArrayEquals(VALUE, writer.getBytes(KEY).orElseThrow());
            writer.remove(KEY, true);
            return met;
        }
    }

    @Test
    void shouldWriteWhateverAFileTakesAtOnce() {
        lendDevice();
        final ConnectedStore client = cluster.join(config -> config, new Faults().randomShort(5));
        for (int i = 0; i < 20; i++) {
            final byte[] value = PatternBytes.of(i, 50_000 + i);
            assertEquals(PutOutcome.STORED, put(client, ObjectKey.of("k" + i), NOF_ONLY, value));
            assertArrayEquals(value, client.getBytes(ObjectKey.of("k" + i)).orElseThrow());
        }
    }

    @Test
    void shouldWorkWithoutDirectAccess() {
        lendDevice();
        final ConnectedStore client = cluster.join(config -> config, new Faults().refuseDirect());
        assertEquals(PutOutcome.STORED, put(client, KEY, NOF_ONLY, VALUE));
        assertArrayEquals(VALUE, client().getBytes(KEY).orElseThrow());
    }

    // Reads that fail.

    @Test
    void shouldMissAndKeepWhatAClientCannotRead() {
        lendDevice();
        final ConnectedStore writer = client();
        put(writer, KEY, NOF_ONLY, VALUE);
        final ConnectedStore reader = cluster.join(config -> config, new Faults().failAlways(Call.READ, Errno.EIO));
        assertEquals(GetOutcome.MISS, reader.get(KEY, StoreContract.room(VALUE.length)));
        assertArrayEquals(VALUE, writer.getBytes(KEY).orElseThrow());
    }

    @Test
    void shouldNeverGiveOutBytesThatWereChangedOnTheDevice() throws IOException {
        lendDevice();
        lendMemory("m");
        final ConnectedStore client = client();
        put(client, KEY, NOF_ONLY, VALUE);
        put(client, ObjectKey.of("other"), EITHER, VALUE);
        assertEquals(BOTH, tiers(client, ObjectKey.of("other")));
        try (RandomAccessFile file = new RandomAccessFile(device("device").toFile(), "rw")) {
            // The first value lies behind the label.
            file.seek(4096 + VALUE.length - 1);
            file.write(~VALUE[VALUE.length - 1]);
            file.getFD().sync();
        }
        assertEquals(GetOutcome.MISS, client().get(KEY, StoreContract.room(VALUE.length)));
        assertEquals(Optional.empty(), client.stat(KEY), "it was reported");
        assertArrayEquals(VALUE, client.getBytes(ObjectKey.of("other")).orElseThrow());
    }

    /** Where the path leads to another device, it is neither read nor written. */
    @Test
    void shouldLeaveAloneADeviceThatIsNotTheOne() throws IOException {
        cluster.join(config -> config.nofDevice(device("device"), DEVICE_BYTES).nofProbe(600_000, 10_000));
        lendMemory("m");
        put(client(), KEY, NOF_ONLY, VALUE);
        Files.move(device("device"), device("elsewhere"));
        final byte[] notes = PatternBytes.of(9, 1 << 20);
        Files.write(device("device"), notes);
        final ConnectedStore client = client();
        assertEquals(GetOutcome.MISS, client.get(KEY, StoreContract.room(VALUE.length)));
        assertEquals(PutOutcome.STORED, put(client, ObjectKey.of("other"), EITHER, VALUE));
        assertEquals(List.of(ReplicaType.MEMORY), tiers(client, ObjectKey.of("other")));
        assertTrue(assertThrows(StoreException.class, () -> put(client, ObjectKey.of("third"), NOF_ONLY, VALUE))
            .getMessage().contains("no block device of a store"));
        assertArrayEquals(notes, Files.readAllBytes(device("device")));
        Files.move(device("elsewhere"), device("device"), StandardCopyOption.REPLACE_EXISTING);
        assertArrayEquals(VALUE, client().getBytes(KEY).orElseThrow());
    }

    /** As a disk that has got another name on one host: a device of a store, but another one. */
    @Test
    void shouldLeaveAloneAnotherDeviceOfAStore() throws IOException {
        cluster.join(config -> config.nofDevice(device("device"), DEVICE_BYTES).nofProbe(600_000, 10_000));
        lendMemory("m");
        put(client(), KEY, NOF_ONLY, VALUE);
        Files.move(device("device"), device("elsewhere"));
        NofDevice.open(device("device"), 1 << 20, FileOpener.POSIX).close();
        final byte[] before = Files.readAllBytes(device("device"));
        final ConnectedStore client = client();
        assertEquals(GetOutcome.MISS, client.get(KEY, StoreContract.room(VALUE.length)));
        assertEquals(PutOutcome.STORED, put(client, ObjectKey.of("other"), EITHER, VALUE));
        assertEquals(List.of(ReplicaType.MEMORY), tiers(client, ObjectKey.of("other")));
        assertTrue(assertThrows(StoreException.class, () -> put(client, ObjectKey.of("third"), NOF_ONLY, VALUE))
            .getMessage().contains("leads to block device"));
        assertArrayEquals(before, Files.readAllBytes(device("device")));
    }

    /** Only a whole block goes past the page cache, and only what does is there for other hosts. */
    @Test
    void shouldFillTheLastBlockUpWithZeros() throws IOException {
        lendDevice();
        try (RandomAccessFile file = new RandomAccessFile(device("device").toFile(), "rw")) {
            file.seek(4096);
            file.write(PatternBytes.of(2, 8192));
            file.getFD().sync();
        }
        final ConnectedStore client = client();
        try (Arena arena = Arena.ofShared()) {
            final MemorySegment value = arena.allocate(4099, 4096);
            MemorySegment.copy(MemorySegment.ofArray(VALUE), 0, value, 0, 4099);
            client.put(KEY, NOF_ONLY, value);
        }
        final byte[] room = Arrays.copyOfRange(Files.readAllBytes(device("device")), 4096, 4096 + 8192);
        assertArrayEquals(Arrays.copyOf(Arrays.copyOf(VALUE, 4099), 8192), room);
    }

    /** What lies there after the end of a lease may be another value's. */
    @Test
    void shouldAskAgainWhenTheLeaseIsOverBeforeTheBytesAreThere() {
        lendDevice();
        put(client(), KEY, NOF_ONLY, VALUE);
        final FaultyLink link = new FaultyLink(cluster.config().build());
        final AtomicInteger reads = new AtomicInteger();
        try (ConnectedStore client = ConnectedStore.open(cluster.config().build(), StoreHooks.SYSTEM, link)) {
            link.fault(new FaultyLink.Fault() {
                @Override
                public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                    return exchange.change(ReadReply.class, reply -> reads.incrementAndGet() > 2 ? reply
                        : new ReadReply(reply.version(), reply.size(), reply.replicas(), reply.held(),
                            reply.checksummed(), reply.checksum(), 0, reply.dataType()));
                }
            });
            final MemorySegment target = StoreContract.room(VALUE.length);
            assertEquals(ReplicaType.NOF, client.get(KEY, target).tier());
            assertArrayEquals(VALUE, PatternBytes.copyOf(target));
            assertEquals(3, reads.get());
        }
    }

    @Test
    void shouldGetAlongWithDevicesThatHaveGone() throws IOException {
        cluster.join(config -> config.nofDevice(device("device"), DEVICE_BYTES).nofProbe(600_000, 10_000));
        put(client(), KEY, NOF_ONLY, VALUE);
        Files.move(device("device"), device("elsewhere"));
        assertEquals(GetOutcome.MISS, client().get(KEY, StoreContract.room(VALUE.length)));
        assertThrows(StoreException.class, () -> put(client(), ObjectKey.of("other"), NOF_ONLY, VALUE));
    }

    @Test
    void shouldUseALoopDevice() throws IOException, InterruptedException {
        try (RandomAccessFile file = new RandomAccessFile(device("file").toFile(), "rw")) {
            file.setLength(DEVICE_BYTES);
        }
        try (LoopDevice loop = LoopDevice.of(device("file"))) {
            try (ConnectedStore lender = cluster.join(config -> config.nofDevice(loop.path(), 0).nofProbe(10, 10_000));
                 ConnectedStore client = client()) {
                assertEquals(DEVICE_BYTES - 4096, lender.masterStats().nofCapacity());
                for (int i = 0; i < 20; i++) {
                    final byte[] value = PatternBytes.of(i, 100_000 + i);
                    assertEquals(PutOutcome.STORED, put(client, ObjectKey.of("k" + i), NOF_ONLY, value));
                    assertArrayEquals(value, lender.getBytes(ObjectKey.of("k" + i)).orElseThrow());
                }
                ConnectedStoreTest.await(() -> client.masterStats().probes().successes() > 0);
            }
        }
    }
}
