package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.BatchResult;
import io.kvtier.store.DataType;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreException;
import io.kvtier.store.replica.ReplicaType;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What a user of any store relies on, call by call. Reads may leave leases, so what has been read is removed by force;
 * and freed memory may rest.
 */
@ExtendWith(LeakCheck.class)
public abstract class StoreContract extends RegionFaultContract {
    public static final int UNIT = 4096;
    static final ObjectKey KEY = ObjectKey.of("key");

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4095, 4096, 4097, 65_536, 1 << 20, (1 << 20) + 3})
    void shouldGiveBackWhatWasPut(final int size) {
        final byte[] value = PatternBytes.of(size, size);
        try (Store store = open(4 << 20, 0)) {
            assertEquals(PutOutcome.STORED, put(store, KEY, value));
            assertEquals(new GetOutcome(true, size, ReplicaType.MEMORY), store.get(KEY, room(size)));
            assertArrayEquals(value, store.getBytes(KEY).orElseThrow());
        }
    }

    @Test
    void shouldGiveBackFromDiskWhatMemoryHasNoRoomFor() {
        final byte[] value = PatternBytes.of(1, 3 * UNIT + 17);
        try (Store store = open(64 * UNIT, 256 * UNIT)) {
            put(store, KEY, value);
            fillUntilOnDisk(store, KEY, 64 * UNIT);
            assertPart(store, value, 5000, 4000);
            assertPart(store, value, value.length, 0);
            final MemorySegment whole = room(value.length);
            assertTrue(store.get(KEY, whole).hit());
            assertArrayEquals(value, PatternBytes.copyOf(whole));
            final MemorySegment other = room(value.length);
            assertTrue(store.getBatch(List.of(Store.Item.of(KEY, other))).getFirst().orThrow().hit());
            assertArrayEquals(value, PatternBytes.copyOf(other));
        }
    }

    @Test
    void shouldGatherAndScatterAnyMixOfMemory() {
        final byte[] value = PatternBytes.of(1, 10_000);
        try (Store store = open(64 * UNIT, 0); Arena confined = Arena.ofConfined(); Arena shared = Arena.ofShared()) {
            final MemorySegment first = confined.allocate(1234);
            final MemorySegment second = shared.allocate(5001, 4096);
            final MemorySegment heap = MemorySegment.ofArray(new byte[value.length - 1234 - 5001]);
            scatter(value, first, second, heap);
            assertEquals(PutOutcome.STORED, store.put(KEY, first, second, heap));
            first.fill((byte) 0);
            second.fill((byte) 0);
            heap.fill((byte) 0);
            assertTrue(store.get(KEY, heap, first, second).hit());
            assertArrayEquals(value, join(heap, first, second));
        }
    }

    @Test
    void shouldReadParts() {
        final byte[] value = PatternBytes.of(2, 3 * UNIT + 17);
        try (Store store = open(16 * UNIT, 0)) {
            put(store, KEY, value);
            assertPart(store, value, 5000, 4000);
            assertPart(store, value, value.length, 0);
            final StoreException tooFar = assertThrows(StoreException.class,
                () -> store.getRange(KEY, value.length - 1, room(2)));
            assertEquals(ErrorCode.INVALID_PARAMS, tooFar.code());
            assertTrue(tooFar.getMessage().contains(String.valueOf(value.length)), tooFar.getMessage());
            assertThrows(StoreException.class, () -> store.getRange(KEY, -1, room(2)));
        }
    }

    @Test
    void shouldReadPartsOfManyValues() {
        try (Store store = open(256 * UNIT, 0)) {
            final List<Store.Part> parts = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                put(store, key(i), PatternBytes.of(i, 9000));
                parts.add(new Store.Part(key(i), 100 + i, List.of(room(1000), room(7000))));
            }
            parts.add(new Store.Part(key(99), 0, List.of(room(1))));
            parts.add(new Store.Part(key(0), 8999, List.of(room(2))));
            final List<BatchResult<GetOutcome>> results = store.getRangeBatch(parts);
            for (int i = 0; i < 40; i++) {
                assertEquals(9000, results.get(i).orThrow().valueSize());
                assertArrayEquals(Arrays.copyOfRange(PatternBytes.of(i, 9000), 100 + i, 8100 + i),
                    join(parts.get(i).memory().toArray(MemorySegment[]::new)));
            }
            assertEquals(GetOutcome.MISS, results.get(40).orThrow());
            assertEquals(ErrorCode.INVALID_PARAMS, results.get(41).failure().code());
        }
    }

    @Test
    void shouldNotOverwrite() {
        try (Store store = open(16 * UNIT, 0)) {
            final byte[] value = PatternBytes.of(1, 100);
            put(store, KEY, value);
            assertEquals(PutOutcome.ALREADY_EXISTS, put(store, KEY, PatternBytes.of(2, 200)));
            assertArrayEquals(value, store.getBytes(KEY).orElseThrow());
            assertEquals(RemoveOutcome.REMOVED, store.remove(KEY, true));
            assertEquals(RemoveOutcome.NOT_FOUND, store.remove(KEY, true));
            assertEquals(Optional.empty(), store.getBytes(KEY));
            assertEquals(Optional.empty(), store.stat(KEY));
            assertFalse(store.exists(KEY));
            assertEquals(PutOutcome.STORED, put(store, KEY, PatternBytes.of(2, 200)));
            assertArrayEquals(PatternBytes.of(2, 200), store.getBytes(KEY).orElseThrow());
        }
    }

    @Test
    void shouldReplaceByUpsert() {
        try (Store store = open(64 * UNIT, 0)) {
            for (int i = 0; i < 5; i++) {
                // Of the same size twice, and of others; read in between, and not.
                final byte[] value = PatternBytes.of(i, i < 3 ? 5000 : 9000);
                assertEquals(PutOutcome.STORED, store.upsert(KEY, PutOptions.DEFAULT, MemorySegment.ofArray(value)));
                if (i != 1) {
                    assertArrayEquals(value, store.getBytes(KEY).orElseThrow());
                }
            }
            final List<BatchResult<PutOutcome>> results = store.upsertBatch(List.of(
                Store.Item.of(KEY, MemorySegment.ofArray(PatternBytes.of(7, 10))),
                Store.Item.of(key(1), MemorySegment.ofArray(PatternBytes.of(8, 20))),
                Store.Item.of(KEY, MemorySegment.ofArray(PatternBytes.of(9, 30)))), PutOptions.DEFAULT);
            assertEquals(List.of(PutOutcome.STORED, PutOutcome.STORED, PutOutcome.STORED),
                results.stream().map(BatchResult::orThrow).toList());
            assertArrayEquals(PatternBytes.of(9, 30), store.getBytes(KEY).orElseThrow(), "the last one of the batch");
            assertEquals(2, store.stats().objects());
        }
    }

    @Test
    void shouldKeepTenantsApart() {
        try (Store store = open(16 * UNIT, 0)) {
            put(store, ObjectKey.of("a", "key"), PatternBytes.of(1, 10));
            put(store, ObjectKey.of("b", "key"), PatternBytes.of(2, 20));
            assertEquals(RemoveOutcome.REMOVED, store.remove(ObjectKey.of("a", "key")));
            assertArrayEquals(PatternBytes.of(2, 20), store.getBytes(ObjectKey.of("b", "key")).orElseThrow());
            assertFalse(store.exists(KEY));
        }
    }

    @Test
    void shouldTreatEachKeyOfABatchAlone() {
        try (Store store = open(64 * UNIT, 0)) {
            final List<BatchResult<PutOutcome>> puts = store.putBatch(List.of(
                Store.Item.of(key(0), MemorySegment.ofArray(PatternBytes.of(0, 5000))),
                Store.Item.of(key(1), MemorySegment.ofArray(new byte[65 * UNIT])),
                Store.Item.of(key(0), MemorySegment.ofArray(PatternBytes.of(9, 1))),
                Store.Item.of(key(2), MemorySegment.ofArray(PatternBytes.of(2, 2)))));
            assertEquals(PutOutcome.STORED, puts.get(0).orThrow());
            assertEquals(ErrorCode.INVALID_PARAMS, puts.get(1).failure().code());
            assertEquals(PutOutcome.ALREADY_EXISTS, puts.get(2).orThrow());
            assertEquals(PutOutcome.STORED, puts.get(3).orThrow());
            assertEquals(List.of(true, false, true), store.existsBatch(List.of(key(0), key(1), key(2))).stream()
                .map(BatchResult::orThrow).toList());
            final MemorySegment whole = room(5000);
            final MemorySegment two = room(2);
            final List<BatchResult<GetOutcome>> gets = store.getBatch(List.of(Store.Item.of(key(0), whole),
                Store.Item.of(key(0), room(4999)), Store.Item.of(key(1), room(1)), Store.Item.of(key(2), two)));
            assertArrayEquals(PatternBytes.of(0, 5000), PatternBytes.copyOf(whole));
            assertTrue(gets.get(0).orThrow().hit());
            assertEquals(ErrorCode.BUFFER_OVERFLOW, gets.get(1).failure().code());
            assertEquals(GetOutcome.MISS, gets.get(2).orThrow());
            assertArrayEquals(PatternBytes.of(2, 2), PatternBytes.copyOf(two));
        }
    }

    @Test
    void shouldRemoveManyOneByOne() {
        try (Store store = open(64 * UNIT, 0)) {
            put(store, key(0), PatternBytes.of(0, 10));
            put(store, key(2), PatternBytes.of(2, 10));
            assertEquals(List.of(RemoveOutcome.REMOVED, RemoveOutcome.NOT_FOUND, RemoveOutcome.REMOVED),
                store.removeBatch(List.of(key(0), key(1), key(2))).stream().map(BatchResult::orThrow).toList());
            assertEquals(0, store.stats().objects());
        }
    }

    @Test
    void shouldPutMoreThanMemoryHoldsInOneBatch() {
        try (Store store = open(16 * UNIT, 0)) {
            final List<Store.Item> items = IntStream.range(0, 40).mapToObj(i -> Store.Item.of(key(i),
                MemorySegment.ofArray(PatternBytes.of(i, UNIT)))).toList();
            final List<BatchResult<PutOutcome>> results = store.putBatch(items);
            for (int i = 0; i < 40; i++) {
                assertEquals(PutOutcome.STORED, results.get(i).orThrow(), "item " + i);
            }
            assertArrayEquals(PatternBytes.of(39, UNIT), store.getBytes(key(39)).orElseThrow());
        }
    }

    @Test
    void shouldFindAndRemoveByPattern() {
        try (Store store = open(64 * UNIT, 0)) {
            for (int i = 0; i < 12; i++) {
                put(store, ObjectKey.of(i % 2 == 0 ? "even" : "odd", "model/layer" + i), PatternBytes.of(i, i));
            }
            assertEquals(Set.of(new Store.Found(ObjectKey.of("even", "model/layer2"), 2),
                new Store.Found(ObjectKey.of("odd", "model/layer3"), 3)),
                Set.copyOf(store.find("", "layer[23]$")));
            assertEquals(6, store.find("odd", "").size());
            assertEquals(1, store.removeMatching("odd", "layer1$", false));
            assertEquals(Set.of(3, 5, 7, 9, 11), store.find("odd", "^model/").stream()
                .map(found -> (int) found.size()).collect(Collectors.toSet()));
            assertEquals(5, store.removeAll("odd", false));
            assertEquals(6, store.removeAll("", false));
            assertEquals(List.of(), store.find("", ""));
            assertEquals(ErrorCode.INVALID_PARAMS,
                assertThrows(StoreException.class, () -> store.find("", "(")).code());
        }
    }

    @Test
    void shouldStoreWithOptions() {
        final byte[] value = PatternBytes.of(3, 10_001);
        try (ClientStore store = open(64 * UNIT, 0)) {
            final PutOptions options =
                PutOptions.DEFAULT.withChecksum(true).withHardPin(true).withDataType(DataType.KVCACHE);
            assertEquals(PutOutcome.STORED, store.put(KEY, options, MemorySegment.ofArray(value).asSlice(0, 31),
                MemorySegment.ofArray(value).asSlice(31)));
            final MemorySegment target = room(value.length);
            assertTrue(store.get(KEY, target).hit());
            assertArrayEquals(value, PatternBytes.copyOf(target));
            assertEquals(List.of(PutOutcome.STORED), store.putBatch(
                List.of(Store.Item.of(key(1), MemorySegment.ofArray(value))), options).stream()
                .map(BatchResult::orThrow).toList());
            assertArrayEquals(value, store.getBytes(key(1)).orElseThrow());
            assertEquals(0, store.stats().unreadable().checksumMismatches());
        }
    }

    @Test
    void shouldCompleteAsynchronousCalls() {
        final byte[] value = PatternBytes.of(5, 20_000);
        try (Store store = open(64 * UNIT, 0); Arena confined = Arena.ofConfined()) {
            assertEquals(PutOutcome.STORED, store.putAsync(KEY, MemorySegment.ofArray(value)).join());
            final MemorySegment target = room(20_000);
            assertTrue(store.getAsync(KEY, target).join().hit());
            assertArrayEquals(value, PatternBytes.copyOf(target));
            final CompletableFuture<GetOutcome> small = store.getAsync(KEY, room(1));
            final Throwable failure = assertThrows(CompletionException.class, small::join).getCause();
            assertEquals(ErrorCode.BUFFER_OVERFLOW, assertInstanceOf(StoreException.class, failure).code());
            final MemorySegment own = confined.allocate(1);
            assertEquals(ErrorCode.INVALID_PARAMS,
                assertThrows(StoreException.class, () -> store.putAsync(key(1), own)).code());
            assertThrows(StoreException.class, () -> store.getBatchAsync(List.of(Store.Item.of(KEY, own))));
            assertEquals(List.of(PutOutcome.STORED, PutOutcome.ALREADY_EXISTS), store.putBatchAsync(List.of(
                Store.Item.of(key(1), MemorySegment.ofArray(value)), Store.Item.of(KEY, room(1)))).join().stream()
                .map(BatchResult::orThrow).toList());
            target.fill((byte) 0);
            assertTrue(store.getBatchAsync(List.of(Store.Item.of(key(1), target))).join().getFirst().orThrow().hit());
            assertArrayEquals(value, PatternBytes.copyOf(target));
            assertEquals(RemoveOutcome.REMOVED, store.removeAsync(KEY, true).join());
        }
    }

    @Test
    void shouldRefuseValuesThatNeverFit() {
        try (Store store = open(4 * UNIT, 0)) {
            final StoreException large = assertThrows(StoreException.class,
                () -> put(store, KEY, new byte[4 * UNIT + 1]));
            assertEquals(ErrorCode.INVALID_PARAMS, large.code());
            assertTrue(large.getMessage().contains("16385") && large.getMessage().contains("16384")
                && large.getMessage().contains("memoryBytes"), large.getMessage());
            assertEquals(PutOutcome.STORED, put(store, KEY, PatternBytes.of(1, 4 * UNIT)));
        }
    }

    @Test
    void shouldFreeMemoryOfAPutWhoseSourceFails() {
        try (ClientStore store = open(4 * UNIT, 0)) {
            final MemorySegment dead;
            try (Arena arena = Arena.ofConfined()) {
                dead = arena.allocate(100);
            }
            assertThrows(IllegalStateException.class, () -> store.put(KEY, dead));
            assertEquals(ErrorCode.INTERNAL_ERROR,
                store.putBatch(List.of(Store.Item.of(KEY, dead))).getFirst().failure().code());
            assertFalse(store.exists(KEY));
            assertEquals(0, store.masterStats().pendingWrites());
            assertEquals(PutOutcome.STORED, put(store, KEY, PatternBytes.of(1, 4 * UNIT)));
        }
    }

    @Test
    void shouldFailAGetWhoseTargetFailsAndNoOther() {
        try (ClientStore store = open(4 * UNIT, 0)) {
            put(store, KEY, PatternBytes.of(1, 100));
            final MemorySegment readOnly = MemorySegment.ofArray(new byte[100]).asReadOnly();
            assertThrows(IllegalArgumentException.class, () -> store.get(KEY, readOnly));
            final MemorySegment good = room(100);
            final List<BatchResult<GetOutcome>> results =
                store.getBatch(List.of(Store.Item.of(KEY, readOnly), Store.Item.of(KEY, good)));
            assertEquals(ErrorCode.INTERNAL_ERROR, results.get(0).failure().code());
            assertTrue(results.get(1).orThrow().hit());
            assertArrayEquals(PatternBytes.of(1, 100), PatternBytes.copyOf(good));
            assertEquals(0, store.masterStats().heldReplicas());
        }
    }

    @Test
    void shouldRefuseCallsOnceClosed() {
        final Store store = open(4 * UNIT, 0);
        store.close();
        store.close();
        final StoreException e = assertThrows(StoreException.class, () -> store.exists(KEY));
        assertEquals(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, e.code());
        assertThrows(StoreException.class, () -> store.put(KEY, room(1)));
        assertTrue(store.getAsync(KEY, room(1)).isCompletedExceptionally());
    }

    /** Puts until a value has been copied down and its memory was given to others. */
    static void fillUntilOnDisk(final Store store, final ObjectKey key, final int memoryBytes) {
        final int chunk = memoryBytes / 8;
        for (int i = 0; !store.stat(key).orElseThrow().tiers().equals(List.of(ReplicaType.LOCAL_DISK)); i++) {
            put(store, ObjectKey.of("push", "p" + i), PatternBytes.of(i, chunk));
        }
    }

    static void assertPart(final Store store, final byte[] value, final int offset, final int length) {
        final MemorySegment part = room(length);
        final GetOutcome outcome = store.getRange(KEY, offset, part);
        assertTrue(outcome.hit());
        assertEquals(value.length, outcome.valueSize());
        assertArrayEquals(Arrays.copyOfRange(value, offset, offset + length), PatternBytes.copyOf(part));
    }

    static PutOutcome put(final Store store, final ObjectKey key, final byte[] value) {
        return store.put(key, MemorySegment.ofArray(value));
    }

    static MemorySegment room(final int bytes) {
        return MemorySegment.ofArray(new byte[bytes]);
    }

    static ObjectKey key(final int i) {
        return ObjectKey.of("key" + i);
    }

    static void scatter(final byte[] value, final MemorySegment... pieces) {
        long at = 0;
        for (final MemorySegment piece : pieces) {
            MemorySegment.copy(MemorySegment.ofArray(value), at, piece, 0, piece.byteSize());
            at += piece.byteSize();
        }
    }

    public static byte[] join(final MemorySegment... pieces) {
        final ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (final MemorySegment piece : pieces) {
            all.writeBytes(PatternBytes.copyOf(piece));
        }
        return all.toByteArray();
    }
}
