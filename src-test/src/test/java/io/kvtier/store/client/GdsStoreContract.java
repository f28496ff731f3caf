package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.Faults;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreException;
import io.kvtier.store.StoreStats;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.replica.ReplicaType;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a user of any store with a file for GDS replicas relies on, whatever moves the bytes. */
@ExtendWith(LeakCheck.class)
abstract class GdsStoreContract {
    static final int UNIT = StoreContract.UNIT;
    static final ObjectKey KEY = StoreContract.KEY;

    @TempDir
    private Path directory;
    final Faults faults = new Faults();

    /** A store with so much memory, which evicts only what it must, and this file. */
    abstract ClientStore open(long memoryBytes, GdsConfig gds);

    /** What moves the bytes. */
    abstract GdsConfig.Mover mover();

    Path file() {
        return directory.resolve("gds");
    }

    GdsConfig gds(final int units) {
        return GdsConfig.NONE.withRoom(file(), (long) units * UNIT).withTransport(mover()).withWatermarks(1, 0.5);
    }

    /** Drops everything from memory. */
    static void evict(final ClientStore store) {
        store.parts().master().apply(new AdminCommand.Evict(1, 1));
    }

    static List<ReplicaType> tiers(final Store store, final ObjectKey key) {
        return store.stat(key).orElseThrow().tiers();
    }

    /** Extents rest for a lease, and are freed by another thread. */
    static void awaitUsed(final Store store, final long units) {
        Threads.awaitUntil(() -> store.stats().gds().tier().usedBytes() == units * UNIT,
            () -> units + " units are not in use, but " + store.stats().gds());
    }

    static void assertValue(final Store store, final ObjectKey key, final byte[] value, final ReplicaType tier) {
        final MemorySegment target = StoreContract.room(value.length);
        assertEquals(new GetOutcome(true, value.length, tier), store.get(key, target), key.toString());
        assertArrayEquals(value, PatternBytes.copyOf(target), key.toString());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4095, 4096, 4097, 65_536, 1 << 20, (1 << 20) + 3})
    void shouldWriteBesideMemoryAndReadWhatMemoryHasNoMore(final int size) {
        final byte[] value = PatternBytes.of(size, size);
        try (ClientStore store = open(4 << 20, gds(300))) {
            assertEquals(PutOutcome.STORED, StoreContract.put(store, KEY, value));
            assertEquals(List.of(ReplicaType.MEMORY, ReplicaType.GDS), tiers(store, KEY));
            assertValue(store, KEY, value, ReplicaType.MEMORY);
            forgetMemory(store);
            assertEquals(List.of(ReplicaType.GDS), tiers(store, KEY));
            assertValue(store, KEY, value, ReplicaType.GDS);
            final StoreStats.GdsStats stats = store.stats().gds();
            assertEquals(List.of(1L, 0L, 1L, 0L, (long) size), List.of(stats.puts(), stats.onlyPuts(), stats.values(),
                stats.unsettled(), stats.tier().writtenBytes()));
            assertEquals(new StoreStats.GdsFaults(0, 0, 0, 0, 0), stats.faults());
            assertRead(store, 1, size);
        }
    }

    /** What was answered from the file. */
    private static void assertRead(final Store store, final long gets, final long bytes) {
        final StoreStats.TierStats tier = store.stats().gds().tier();
        assertEquals(List.of(gets, bytes), List.of(tier.hits(), tier.readBytes()));
    }

    /** What was read is leased, and stays in memory until that is over. */
    private static void forgetMemory(final ClientStore store) {
        Threads.awaitUntil(() -> {
            evict(store);
            return !tiers(store, KEY).contains(ReplicaType.MEMORY);
        }, () -> store.stat(KEY) + " is in memory");
    }

    @Test
    void shouldKeepAValueWithoutBytesInMemoryAlone() {
        try (ClientStore store = open(64 * UNIT, gds(4))) {
            assertEquals(PutOutcome.STORED, StoreContract.put(store, KEY, new byte[0]));
            assertEquals(List.of(ReplicaType.MEMORY), tiers(store, KEY));
            assertEquals(0, store.stats().gds().tier().usedBytes());
        }
    }

    @Test
    void shouldStoreInTheFileAloneWhatMemoryCannotHold() {
        final byte[] value = PatternBytes.of(3, 20 * UNIT + 5);
        final ObjectKey small = ObjectKey.of("small");
        try (ClientStore store = open(16 * UNIT, gds(64))) {
            assertEquals(PutOutcome.STORED, StoreContract.put(store, KEY, value));
            assertEquals(List.of(ReplicaType.GDS), tiers(store, KEY));
            assertValue(store, KEY, value, ReplicaType.GDS);
            final List<BatchResult<PutOutcome>> batch = store.putBatch(List.of(
                Store.Item.of(ObjectKey.of("large"), MemorySegment.ofArray(value)),
                Store.Item.of(small, MemorySegment.ofArray(PatternBytes.of(4, 7)))));
            assertEquals(List.of(PutOutcome.STORED, PutOutcome.STORED),
                batch.stream().map(BatchResult::orThrow).toList());
            assertValue(store, ObjectKey.of("large"), value, ReplicaType.GDS);
            assertEquals(List.of(ReplicaType.MEMORY, ReplicaType.GDS), tiers(store, small));
            assertEquals(List.of(1L, 2L), List.of(store.stats().gds().puts(), store.stats().gds().onlyPuts()));
            assertEquals(PutOutcome.ALREADY_EXISTS, StoreContract.put(store, KEY, value));
            assertEquals(21 * 2 + 1, store.stats().gds().tier().usedBytes() / UNIT, "a put that is not taken frees");
        }
    }

    @Test
    void shouldReadPartsIntoAnyMixOfMemory() {
        final byte[] value = PatternBytes.of(5, 3 * UNIT + 17);
        try (ClientStore store = open(2 * UNIT, gds(64)); Arena confined = Arena.ofConfined();
            Arena shared = Arena.ofShared()) {
            StoreContract.put(store, KEY, value);
            assertEquals(List.of(ReplicaType.GDS), tiers(store, KEY));
            final MemorySegment first = confined.allocate(1234);
            final MemorySegment second = shared.allocate(5001, 4096);
            final MemorySegment heap = MemorySegment.ofArray(new byte[value.length - 1234 - 5001]);
            assertTrue(store.get(KEY, heap, first, second).hit());
            assertArrayEquals(value, StoreContract.join(heap, first, second));
            StoreContract.scatter(value, first, second, heap);
            assertEquals(PutOutcome.STORED, store.put(ObjectKey.of("pieces"), first, second, heap));
            assertValue(store, ObjectKey.of("pieces"), value, ReplicaType.GDS);
            StoreContract.assertPart(store, value, 5000, 4000);
            StoreContract.assertPart(store, value, UNIT, UNIT);
            StoreContract.assertPart(store, value, value.length - 1, 1);
            StoreContract.assertPart(store, value, value.length, 0);
            assertThrows(StoreException.class, () -> store.getRange(KEY, value.length, StoreContract.room(1)));
            final MemorySegment exact = shared.allocate(value.length, UNIT);
            assertTrue(store.getBatch(List.of(Store.Item.of(KEY, exact))).getFirst().orThrow().hit());
            assertArrayEquals(value, PatternBytes.copyOf(exact));
        }
    }

    @Test
    void shouldWriteManyPiecesOfWholeBlocksWhereTheyAre() {
        try (ClientStore store = open(2 * UNIT, gds(300)); Arena arena = Arena.ofShared()) {
            final byte[] value = PatternBytes.of(6, 256 * UNIT - 100);
            final MemorySegment[] pieces = IntStream.range(0, 256)
                .mapToObj(i -> arena.allocate(i == 255 ? UNIT - 100 : UNIT, UNIT)).toArray(MemorySegment[]::new);
            StoreContract.scatter(value, pieces);
            assertEquals(PutOutcome.STORED, store.put(KEY, pieces));
            Arrays.stream(pieces).forEach(piece -> piece.fill((byte) 0));
            assertEquals(new GetOutcome(true, value.length, ReplicaType.GDS), store.get(KEY, pieces));
            assertArrayEquals(value, StoreContract.join(pieces));
        }
    }

    @Test
    void shouldDropWhatWasUsedLongestAgoWhenTheFileIsFull() {
        try (ClientStore store = open(UNIT, gds(10))) {
            for (int i = 0; i < 40; i++) {
                final byte[] value = PatternBytes.of(i, 2 * UNIT);
                assertEquals(PutOutcome.STORED, StoreContract.put(store, StoreContract.key(i), value), "key " + i);
                assertEquals(List.of(ReplicaType.GDS), tiers(store, StoreContract.key(i)), "key " + i);
            }
            for (int i = 0; i < 40; i++) {
                if (store.exists(StoreContract.key(i))) {
                    assertTrue(i >= 35, "room for five, the last ones: " + i);
                    assertValue(store, StoreContract.key(i), PatternBytes.of(i, 2 * UNIT), ReplicaType.GDS);
                }
            }
            assertTrue(store.exists(StoreContract.key(39)));
            assertTrue(store.stats().gds().tier().usedBytes() <= 10 * UNIT);
        }
    }

    @Test
    void shouldFreeWhatIsRemovedReplacedOrForgotten() {
        try (ClientStore store = open(64 * UNIT, gds(64))) {
            for (int i = 0; i < 10; i++) {
                StoreContract.put(store, StoreContract.key(i), PatternBytes.of(i, UNIT + 1));
            }
            assertEquals(20 * UNIT, store.stats().gds().tier().usedBytes());
            assertEquals(PutOutcome.STORED, store.upsert(StoreContract.key(0), PutOptions.DEFAULT,
                MemorySegment.ofArray(PatternBytes.of(77, 3 * UNIT))));
            awaitUsed(store, 21);
            assertValue(store, StoreContract.key(0), PatternBytes.of(77, 3 * UNIT), ReplicaType.MEMORY);
            assertEquals(RemoveOutcome.REMOVED, store.remove(StoreContract.key(1), true));
            awaitUsed(store, 19);
            assertEquals(9, store.removeAll("", true));
            awaitUsed(store, 0);
            assertEquals(0, store.masterStats().gds().replicas());
        }
    }

    @Test
    void shouldFailAPutWhoseFileFailsAndLeaveNothingBehind() {
        try (ClientStore store = open(64 * UNIT, gds(64))) {
            StoreContract.put(store, ObjectKey.of("before"), PatternBytes.of(1, 2 * UNIT));
            faults.failAlways(Faults.Call.WRITE, Errno.EIO);
            final StoreException failed = assertThrows(StoreException.class,
                () -> StoreContract.put(store, KEY, PatternBytes.of(2, 2 * UNIT)));
            assertEquals(ErrorCode.TRANSFER_FAIL, failed.code());
            final List<BatchResult<PutOutcome>> batch = store.putBatch(List.of(
                Store.Item.of(ObjectKey.of("empty"), StoreContract.room(0)),
                Store.Item.of(KEY, StoreContract.room(2 * UNIT))));
            assertEquals(PutOutcome.STORED, batch.get(0).orThrow());
            assertEquals(ErrorCode.TRANSFER_FAIL, batch.get(1).failure().code());
            faults.heal();
            assertFalse(store.exists(KEY));
            awaitUsed(store, 2);
            assertEquals(2, store.stats().gds().faults().writeFailures());
            assertEquals(PutOutcome.STORED, StoreContract.put(store, KEY, PatternBytes.of(3, 2 * UNIT)));
            assertEquals(0, store.masterStats().pendingWrites());
        }
    }

    @Test
    void shouldReadAnotherReplicaWhereTheFileFails() {
        final byte[] value = PatternBytes.of(1, 2 * UNIT);
        try (ClientStore store = open(UNIT, gds(64))) {
            StoreContract.put(store, KEY, value);
            faults.failAlways(Faults.Call.READ, Errno.EIO);
            assertEquals(GetOutcome.MISS, store.get(KEY, StoreContract.room(value.length)));
            faults.heal();
            assertFalse(store.exists(KEY), "nobody else could read it");
            awaitUsed(store, 0);
            assertEquals(1, store.stats().gds().faults().readFailures());
        }
    }

    /** Bytes that were changed on the disk are not given out. */
    @Test
    void shouldNotGiveOutBytesThatAreNotThoseWritten() throws IOException {
        final byte[] value = PatternBytes.of(1, 2 * UNIT);
        try (ClientStore store = open(UNIT, gds(64))) {
            StoreContract.put(store, KEY, value);
            try (FileChannel raw = FileChannel.open(file(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                final ByteBuffer all = ByteBuffer.allocate((int) raw.size());
                raw.read(all, 0);
                final int at = find(all.array(), value);
                raw.write(ByteBuffer.wrap(new byte[] {(byte) ~value[100]}), at + 100);
                raw.force(true);
            }
            assertEquals(GetOutcome.MISS, store.get(KEY, StoreContract.room(value.length)));
            assertFalse(store.exists(KEY));
            assertRead(store, 0, 0);
        }
    }

    private static int find(final byte[] all, final byte[] value) {
        for (int at = 0; at + value.length <= all.length; at += UNIT) {
            if (Arrays.equals(value, 0, value.length, all, at, at + value.length)) {
                return at;
            }
        }
        throw new AssertionError("the value is not in the file");
    }

    @Test
    void shouldFindAfterARestartWhatWasThereAndNotWhatWasRemoved() {
        final GdsConfig gds = gds(64);
        try (ClientStore store = open(64 * UNIT, gds)) {
            for (int i = 0; i < 6; i++) {
                StoreContract.put(store, StoreContract.key(i), PatternBytes.of(i, UNIT + i));
            }
            store.remove(StoreContract.key(2), true);
            store.upsert(StoreContract.key(3), PutOptions.DEFAULT,
                MemorySegment.ofArray(PatternBytes.of(33, 9)));
            awaitUsed(store, 8);
        }
        try (ClientStore store = open(64 * UNIT, gds)) {
            for (int i = 0; i < 6; i++) {
                if (i == 2) {
                    assertFalse(store.exists(StoreContract.key(i)));
                } else {
                    assertValue(store, StoreContract.key(i), i == 3 ? PatternBytes.of(33, 9)
                        : PatternBytes.of(i, UNIT + i), ReplicaType.GDS);
                }
            }
            assertEquals(5, store.stats().gds().values());
        }
        try (ClientStore store = open(64 * UNIT, gds.withWarmRestart(false))) {
            assertEquals(0, store.stats().objects());
            assertEquals(0, store.stats().gds().tier().usedBytes());
        }
    }
}
