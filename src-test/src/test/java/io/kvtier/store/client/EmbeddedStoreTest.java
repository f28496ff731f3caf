package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.Faults;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.ManualClock;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.StoreStats;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.config.Environment;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.gds.GdsTransport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.AbstractList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a user of the embedded store relies on, call by call. */
@ExtendWith(LeakCheck.class)
class EmbeddedStoreTest extends StoreContract {
    @TempDir
    private Path directory;
    private final ManualClock clock = new ManualClock(0);
    private final Faults faults = new Faults();

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4095, 4096, 4097, 65_536, 1 << 20})
    void shouldGiveBackWhatWasPutFromMemoryAndFromDisk(final int size) {
        final byte[] value = PatternBytes.of(size, size);
        try (EmbeddedStore store = open(tiered(2 << 20, 8 << 20).promoteOnHit(false))) {
            assertEquals(PutOutcome.STORED, put(store, KEY, value));
            assertEquals(new GetOutcome(true, size, ReplicaType.MEMORY), store.get(KEY, room(size)));
            assertArrayEquals(value, store.getBytes(KEY).orElseThrow());
            pushToDisk(store, 2 << 20);
            assertEquals(List.of(ReplicaType.LOCAL_DISK), store.stat(KEY).orElseThrow().tiers());
            assertEquals(new GetOutcome(true, size, ReplicaType.LOCAL_DISK), store.get(KEY, room(size)));
            assertArrayEquals(value, store.getBytes(KEY).orElseThrow());
        }
    }

    @Test
    void shouldGatherAndScatterAnyMixOfMemory() {
        final byte[] value = PatternBytes.of(1, 10_000);
        try (EmbeddedStore store = open(tiered(64 * UNIT, 512 * UNIT)); Arena confined = Arena.ofConfined();
            Arena shared = Arena.ofShared()) {
            final MemorySegment first = confined.allocate(1234);
            final MemorySegment second = shared.allocate(5001, 4096);
            final MemorySegment heap = MemorySegment.ofArray(new byte[value.length - 1234 - 5001]);
            scatter(value, first, second, heap);
            assertEquals(PutOutcome.STORED, store.put(KEY, first, second, heap));
            for (final boolean fromDisk : new boolean[] {false, true}) {
                first.fill((byte) 0);
                second.fill((byte) 0);
                heap.fill((byte) 0);
                assertTrue(store.get(KEY, heap, first, second).hit());
                assertArrayEquals(value, join(heap, first, second));
                if (!fromDisk) {
                    pushToDisk(store, 64 * UNIT);
                }
            }
        }
    }

    @Test
    void shouldReadPartsFromBothTiers() {
        final byte[] value = PatternBytes.of(2, 3 * UNIT + 17);
        try (EmbeddedStore store = open(tiered(16 * UNIT, 128 * UNIT).promoteOnHit(false))) {
            put(store, KEY, value);
            assertPart(store, value, 5000, 4000, ReplicaType.MEMORY);
            pushToDisk(store, 16 * UNIT);
            assertPart(store, value, 5000, 4000, ReplicaType.LOCAL_DISK);
            assertPart(store, value, value.length, 0, ReplicaType.LOCAL_DISK);
            final StoreException tooFar = assertThrows(StoreException.class,
                () -> store.getRange(KEY, value.length - 1, room(2)));
            assertEquals(ErrorCode.INVALID_PARAMS, tooFar.code());
            assertTrue(tooFar.getMessage().contains(String.valueOf(value.length)), tooFar.getMessage());
            assertThrows(StoreException.class, () -> store.getRange(KEY, -1, room(2)));
        }
    }

    @Test
    void shouldPromoteADiskHit() {
        try (EmbeddedStore store = open(tiered(16 * UNIT, 128 * UNIT).eviction(0.5, 0.1))) {
            final byte[] value = PatternBytes.of(3, UNIT);
            put(store, KEY, value);
            pushToDisk(store, 16 * UNIT);
            assertEquals(ReplicaType.LOCAL_DISK, store.get(KEY, room(UNIT)).tier());
            assertEquals(ReplicaType.MEMORY, store.get(KEY, room(UNIT)).tier());
            assertArrayEquals(value, store.getBytes(KEY).orElseThrow());
            assertEquals(1, store.stats().promotions());
            assertEquals(List.of(ReplicaType.MEMORY, ReplicaType.LOCAL_DISK), store.stat(KEY).orElseThrow().tiers());
        }
    }

    @Test
    void shouldKeepExactOrderOfUseInMemory() {
        try (EmbeddedStore store = open(memoryOnly(4 * UNIT))) {
            for (int i = 0; i < 4; i++) {
                put(store, key(i), PatternBytes.of(i, UNIT));
            }
            store.getBytes(key(0));
            assertTrue(store.exists(key(1)));
            put(store, key(4), PatternBytes.of(4, UNIT));
            put(store, key(5), PatternBytes.of(5, UNIT));
            assertEquals("0 1 4 5", present(store, 6), "2 and 3 were used longest ago");
            assertEquals(2, store.stats().memory().evictions());
        }
    }

    @Test
    void shouldEvictDownBelowTheWatermark() {
        // 100 units, watermark 0.8, ratio 0.3: the put that passes 80 evicts down to 50 with itself.
        try (EmbeddedStore store = open(StoreConfig.builder().memoryBytes(100 * UNIT).eviction(0.8, 0.3))) {
            for (int i = 0; i < 80; i++) {
                put(store, key(i), PatternBytes.of(i, UNIT));
            }
            assertEquals(80L * UNIT, store.stats().memory().usedBytes());
            put(store, key(80), PatternBytes.of(80, UNIT));
            assertEquals(50L * UNIT, store.stats().memory().usedBytes());
            assertEquals(31, store.stats().memory().evictions());
        }
    }

    @Test
    void shouldKeepWhatIsLeased() {
        try (EmbeddedStore store = open(memoryOnly(2 * UNIT).leaseMs(100))) {
            put(store, key(0), PatternBytes.of(0, UNIT));
            put(store, key(1), PatternBytes.of(1, UNIT));
            store.getBytes(key(0));
            store.exists(key(1));
            assertEquals(PutOutcome.NO_SPACE, put(store, key(2), PatternBytes.of(2, UNIT)));
            assertEquals(RemoveOutcome.LEASED, store.remove(key(0)));
            clock.advance(99);
            assertEquals(PutOutcome.NO_SPACE, put(store, key(2), PatternBytes.of(2, UNIT)));
            clock.advance(1);
            assertEquals(PutOutcome.STORED, put(store, key(2), PatternBytes.of(2, UNIT)));
            assertEquals("1 2", present(store, 3), "the lease of 0 ended first");
            store.exists(key(1));
            assertEquals(RemoveOutcome.REMOVED, store.remove(key(1), true), "force removes even what is leased");
        }
    }

    @Test
    void shouldTreatEachKeyOfABatchAlone() {
        try (EmbeddedStore store = open(tiered(64 * UNIT, 128 * UNIT))) {
            final List<BatchResult<PutOutcome>> puts = store.putBatch(List.of(
                Store.Item.of(key(0), MemorySegment.ofArray(PatternBytes.of(0, 5000))),
                Store.Item.of(key(1), MemorySegment.ofArray(new byte[65 * UNIT])),
                Store.Item.of(key(0), MemorySegment.ofArray(PatternBytes.of(9, 1))),
                Store.Item.of(key(2), MemorySegment.ofArray(PatternBytes.of(2, 2)))));
            assertEquals(PutOutcome.STORED, puts.get(0).orThrow());
            assertEquals(ErrorCode.INVALID_PARAMS, puts.get(1).failure().code());
            assertEquals(PutOutcome.ALREADY_EXISTS, puts.get(2).orThrow());
            assertEquals(PutOutcome.STORED, puts.get(3).orThrow());
            pushToDisk(store, 64 * UNIT);
            final MemorySegment whole = room(5000);
            final MemorySegment two = room(2);
            final List<BatchResult<GetOutcome>> gets = store.getBatch(List.of(Store.Item.of(key(0), whole),
                Store.Item.of(key(0), room(4999)), Store.Item.of(key(1), room(1)), Store.Item.of(key(2), two)));
            assertArrayEquals(PatternBytes.of(0, 5000), PatternBytes.copyOf(whole));
            assertTrue(gets.get(0).orThrow().hit());
            assertEquals(ErrorCode.BUFFER_OVERFLOW, gets.get(1).failure().code());
            assertEquals(GetOutcome.MISS, gets.get(2).orThrow());
            assertArrayEquals(PatternBytes.of(2, 2), PatternBytes.copyOf(two));
            assertEquals(List.of(true, false, true), store.existsBatch(List.of(key(0), key(1), key(2))).stream()
                .map(BatchResult::orThrow).toList());
            assertEquals(List.of(RemoveOutcome.REMOVED, RemoveOutcome.NOT_FOUND),
                store.removeBatch(List.of(key(0), key(1))).stream().map(BatchResult::orThrow).toList());
        }
    }

    @Test
    void shouldFreeMemoryOfAPutWhoseSourceFails() {
        try (EmbeddedStore store = open(memoryOnly(4 * UNIT))) {
            final MemorySegment dead;
            try (Arena arena = Arena.ofConfined()) {
                dead = arena.allocate(100);
            }
            assertThrows(IllegalStateException.class, () -> store.put(KEY, dead));
            assertEquals(0, store.stats().memory().usedBytes());
            assertFalse(store.exists(KEY));
            assertEquals(PutOutcome.STORED, put(store, KEY, PatternBytes.of(1, 4 * UNIT)));
        }
    }

    @Test
    void shouldReleaseTheReplicaOfAGetWhoseTargetFails() {
        try (EmbeddedStore store = open(memoryOnly(UNIT))) {
            put(store, KEY, PatternBytes.of(1, 100));
            final MemorySegment readOnly = MemorySegment.ofArray(new byte[100]).asReadOnly();
            assertThrows(IllegalArgumentException.class, () -> store.get(KEY, readOnly));
            assertEquals(0, store.masterStats().heldReplicas());
            assertEquals(PutOutcome.STORED, put(store, key(1), PatternBytes.of(1, UNIT)), "0 can be evicted");
        }
    }

    /** Memory of the caller whose pages are gone, as that of a mapped file that was cut: an error, not an exception. */
    private static final class Gone extends AbstractList<MemorySegment> {
        private final MemorySegment room;
        private int looks;

        Gone(final int size) {
            room = room(size);
        }

        @Override
        public MemorySegment get(final int index) {
            // Its size is asked for twice before anything is copied.
            if (looks++ >= 2) {
                throw new InternalError("a test's page that is gone");
            }
            return room;
        }

        @Override
        public int size() {
            return 1;
        }
    }

    @Test
    void shouldReleaseAllReplicasOfABatchWhoseTargetsAreGone() {
        try (EmbeddedStore store = open(tiered(4 * UNIT, 64 * UNIT))) {
            put(store, key(0), PatternBytes.of(0, UNIT));
            put(store, key(1), PatternBytes.of(1, UNIT));
            pushToDisk(store, 4 * UNIT);
            put(store, key(2), PatternBytes.of(2, UNIT));

            assertThrows(InternalError.class, () -> store.getBatch(List.of(new Store.Item(key(0), new Gone(UNIT)),
                new Store.Item(key(1), new Gone(UNIT)), new Store.Item(key(2), new Gone(UNIT)))));

            assertEquals(0, store.masterStats().heldReplicas());
            for (int i = 0; i < 2; i++) {
                assertEquals(RemoveOutcome.REMOVED, store.remove(key(i)));
            }
            put(store, key(3), PatternBytes.of(3, UNIT));
        }
    }

    @Test
    void shouldReportAChecksumMismatchAsAMiss() throws IOException {
        final StoreConfig.Builder config = tiered(4 * UNIT, 64 * UNIT);
        try (EmbeddedStore store = open(config)) {
            put(store, KEY, PatternBytes.of(1, 3 * UNIT));
            pushToDisk(store, 4 * UNIT);
            flipOneBit(directory.resolve("kv_cache.data"), PatternBytes.of(1, 3 * UNIT));
            assertEquals(GetOutcome.MISS, store.get(KEY, room(3 * UNIT)));
            assertEquals(new StoreStats.TierFaults(0, 1), store.stats().unreadable());
            assertFalse(store.exists(KEY));
            assertEquals(PutOutcome.STORED, put(store, KEY, PatternBytes.of(2, 10)), "the key is free again");
        }
    }

    @Test
    void shouldReportAFailingReadAsAMiss() {
        try (EmbeddedStore store = open(tiered(4 * UNIT, 64 * UNIT))) {
            put(store, KEY, PatternBytes.of(1, 3 * UNIT));
            pushToDisk(store, 4 * UNIT);
            faults.failNth(Faults.Call.READ, 1, Errno.EIO);
            assertEquals(GetOutcome.MISS, store.get(KEY, room(3 * UNIT)));
            assertEquals(new StoreStats.TierFaults(1, 0), store.stats().unreadable());
        }
    }

    @Test
    void shouldReportAMissWhenTheIndexCannotBeReplacedEither() throws IOException {
        final EmbeddedStore store = open(tiered(4 * UNIT, 64 * UNIT));
        put(store, key(0), PatternBytes.of(0, UNIT));
        put(store, key(1), PatternBytes.of(1, UNIT));
        pushToDisk(store, 4 * UNIT);
        faults.failNth(Faults.Call.WRITE, 1, Errno.EIO);
        assertEquals(ErrorCode.FILE_WRITE_FAIL, assertThrows(StoreException.class, () -> store.remove(key(0))).code());
        assertFalse(store.exists(key(0)), "it is removed all the same");
        // The log is damaged now and has to be replaced, but a directory in its place cannot be.
        final Path log = directory.resolve("index.log");
        Files.delete(log);
        Files.createDirectories(log.resolve("in the way"));
        faults.failNth(Faults.Call.READ, 1, Errno.EIO);
        assertEquals(GetOutcome.MISS, store.get(key(1), room(UNIT)));
        assertEquals(PutOutcome.STORED, put(store, key(2), PatternBytes.of(2, UNIT)));
        assertEquals(ErrorCode.FILE_WRITE_FAIL, assertThrows(StoreException.class, store::close).code());
    }

    @Test
    void shouldGoOnWithoutTheDiskWhenItFails() {
        try (EmbeddedStore store = open(tiered(8 * UNIT, 64 * UNIT))) {
            faults.failAlways(Faults.Call.WRITE, Errno.EIO);
            for (int i = 0; i < 64; i++) {
                assertEquals(PutOutcome.STORED, put(store, key(i), PatternBytes.of(i, UNIT)));
            }
            assertTrue(store.stats().offloadFailures() > 0);
            assertTrue(store.exists(key(63)));
            assertArrayEquals(PatternBytes.of(63, UNIT), store.getBytes(key(63)).orElseThrow());
        } catch (final StoreException e) {
            assertEquals(ErrorCode.FILE_WRITE_FAIL, e.code(), "closing cannot write the index and says so");
        }
    }

    @Test
    void shouldFindWhatWasOnDiskAfterARestart() {
        final StoreConfig.Builder config = tiered(4 * UNIT, 64 * UNIT);
        try (EmbeddedStore store = open(config)) {
            put(store, key(0), PatternBytes.of(0, 2 * UNIT));
            put(store, key(1), PatternBytes.of(1, UNIT));
            pushToDisk(store, 4 * UNIT);
            assertEquals(RemoveOutcome.REMOVED, store.remove(key(1)));
        }
        try (EmbeddedStore store = open(config)) {
            assertArrayEquals(PatternBytes.of(0, 2 * UNIT), store.getBytes(key(0)).orElseThrow());
            assertFalse(store.exists(key(1)), "removed before the restart");
            assertEquals(PutOutcome.ALREADY_EXISTS, put(store, key(0), new byte[1]));
            assertEquals(PutOutcome.STORED, put(store, key(1), PatternBytes.of(7, 7)));
        }
    }

    /** What has been removed or replaced does not come back, whenever the process dies. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldNotFindAgainWhatWentWhileItWasBeingCopiedDown(final boolean replaced, @TempDir final Path image)
        throws InterruptedException {
        try (EmbeddedStore store = open(tiered(16 * UNIT, 64 * UNIT))) {
            put(store, KEY, PatternBytes.of(1, UNIT));
            final Faults.Gate data = faults.blockNext(Faults.Call.SYNC);
            store.parts().master().apply(new AdminCommand.Evict(1, 1));
            data.awaitEntered();
            final Faults.Gate record = faults.blockNext(Faults.Call.WRITE);
            data.release();
            // Behind the question whether it is still wanted, which is answered with yes.
            record.awaitEntered();
            final AtomicReference<Thread> remover = new AtomicReference<>();
            final CompletableFuture<Void> removal = Threads.start(() -> {
                remover.set(Thread.currentThread());
                if (replaced) {
                    upsert(store, KEY, 2);
                } else {
                    store.removeAll("", true);
                }
            });
            while (remover.get() == null) {
                Thread.onSpinWait();
            }
            final boolean waits = Threads.awaitWaiting(remover.get());
            final Faults.Gate durable = faults.blockNext(Faults.Call.SYNC);
            record.release();
            durable.awaitEntered();
            if (!waits) {
                copyFiles(image);
            }
            durable.release();
            removal.join();
            if (waits) {
                copyFiles(image);
            }
        }
        assertEmpty(image);
    }

    /** A record that could not be written is not forgotten because nobody was told. */
    @Test
    void shouldNotFindAgainWhatWasReplacedThoughThatCouldNotBeWrittenAtOnce(@TempDir final Path image) {
        try (EmbeddedStore store = open(tiered(4 * UNIT, 64 * UNIT))) {
            put(store, KEY, PatternBytes.of(1, UNIT));
            pushToDisk(store, 4 * UNIT);
            faults.failNth(Faults.Call.WRITE, 1, Errno.EIO);
            upsert(store, KEY, 2);
            upsert(store, key(1), 3);
            copyFiles(image);
        }
        assertEmpty(image);
    }

    @Test
    void shouldGoOnWithoutTheDiskWhenRemovalsCannotBeWritten() {
        try (EmbeddedStore store = open(tiered(8 * UNIT, 64 * UNIT).putTimeoutMs(1_000))) {
            put(store, KEY, PatternBytes.of(1, UNIT));
            pushToDisk(store, 8 * UNIT);
            faults.failAlways(Faults.Call.WRITE, Errno.EIO);
            upsert(store, KEY, 2);
            for (int i = 0; i < 64; i++) {
                assertEquals(PutOutcome.STORED, put(store, key(i), PatternBytes.of(i, UNIT)));
            }
        } catch (final StoreException e) {
            assertEquals(ErrorCode.FILE_WRITE_FAIL, e.code(), "closing cannot write the index and says so");
        }
    }

    /** The record of a copy that failed may be in the log. */
    @Test
    void shouldNotFindAgainWhatWasReplacedAfterItsCopyFailed(@TempDir final Path image) {
        try (EmbeddedStore store = open(tiered(16 * UNIT, 64 * UNIT))) {
            put(store, KEY, PatternBytes.of(1, UNIT));
            faults.failNth(Faults.Call.SYNC, 2, Errno.EIO);
            store.parts().master().apply(new AdminCommand.Evict(1, 1));
            while (store.stats().offloadFailures() == 0) {
                Thread.onSpinWait();
            }
            upsert(store, KEY, 2);
            copyFiles(image);
        }
        assertEmpty(image);
    }

    private static void upsert(final Store store, final ObjectKey key, final int seed) {
        assertEquals(PutOutcome.STORED,
            store.upsert(key, PutOptions.DEFAULT, MemorySegment.ofArray(PatternBytes.of(seed, UNIT))));
    }

    /** The files as a process leaves them that dies now. */
    private void copyFiles(final Path image) {
        try {
            for (final String name : List.of("kv_cache.data", "index.log")) {
                Files.copy(directory.resolve(name), image.resolve(name));
            }
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void assertEmpty(final Path image) {
        final StoreConfig config = StoreConfig.builder().memoryBytes(16 * UNIT).disk(image, 64 * UNIT).ioThreads(2)
            .build();
        try (EmbeddedStore store = EmbeddedStore.open(config, new StoreHooks(clock, FileOpener.POSIX,
            Environment.of(Map.of())))) {
            assertEquals(Optional.empty(), store.getBytes(KEY));
            assertEquals(0, store.stats().objects());
        }
    }

    @Test
    void shouldRefuseASecondStoreOnTheDirectory() {
        try (EmbeddedStore store = open(tiered(4 * UNIT, 8 * UNIT))) {
            final StoreException refused = assertThrows(StoreException.class,
                () -> open(tiered(4 * UNIT, 8 * UNIT)).close());
            assertEquals(ErrorCode.FILE_LOCK_FAIL, refused.code());
            assertTrue(refused.getMessage().contains(directory.toString()), refused.getMessage());
            assertEquals(PutOutcome.STORED, put(store, KEY, new byte[1]), "the first one goes on");
        }
    }

    @Test
    void shouldLeaveNothingBehindWhenTheDiskIsFull() {
        faults.failNth(Faults.Call.PREALLOCATE, 1, Errno.ENOSPC);
        final StoreException full = assertThrows(StoreException.class, () -> open(tiered(4 * UNIT, 8 * UNIT)));
        assertEquals(ErrorCode.FILE_OPEN_FAIL, full.code());
        assertTrue(full.getCause().getMessage().contains("ENOSPC"), full.getCause().getMessage());
        assertEquals(List.of("LOCK"), files());
    }

    @Test
    void shouldRefuseCallsAfterClose() {
        final EmbeddedStore store = open(tiered(4 * UNIT, 8 * UNIT));
        store.close();
        store.close();
        for (final Runnable call : List.<Runnable>of(() -> put(store, KEY, new byte[1]), () -> store.getBytes(KEY),
            () -> store.exists(KEY), () -> store.remove(KEY), store::stats, () -> store.stat(KEY),
            () -> store.putBatch(List.of()), () -> store.getBatch(List.of()))) {
            assertEquals(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, assertThrows(StoreException.class, call::run).code());
        }
        final Throwable late = assertThrows(CompletionException.class, () -> store.getAsync(KEY, room(1)).join());
        assertInstanceOf(StoreException.class, late.getCause());
    }

    @Test
    void shouldWaitForRunningCallsWhenClosed() throws Exception {
        final EmbeddedStore store = open(tiered(4 * UNIT, 64 * UNIT));
        put(store, KEY, PatternBytes.of(1, 2 * UNIT));
        pushToDisk(store, 4 * UNIT);
        final CompletableFuture<GetOutcome> reading;
        final CompletableFuture<Void> closing;
        final MemorySegment target = room(2 * UNIT);
        try (Faults.Gate gate = faults.blockNext(Faults.Call.READ)) {
            reading = CompletableFuture.supplyAsync(() -> store.get(KEY, target), Thread::startVirtualThread);
            gate.awaitEntered();
            closing = CompletableFuture.runAsync(store::close, task -> new Thread(task).start());
            assertFalse(closing.isDone());
        }
        closing.join();
        assertTrue(reading.join().hit(), "the call that was inside ended well");
        assertArrayEquals(PatternBytes.of(1, 2 * UNIT), PatternBytes.copyOf(target));
    }

    @Test
    void shouldEndAPutThatWaitsForRoomWhenClosed() throws Exception {
        final EmbeddedStore store = open(tiered(4 * UNIT, 64 * UNIT).eviction(1, 0).putTimeoutMs(1_000_000));
        final CompletableFuture<PutOutcome> waiting;
        try (Faults.Gate gate = faults.blockNext(Faults.Call.WRITE)) {
            for (int i = 0; i < 4; i++) {
                put(store, key(i), PatternBytes.of(i, UNIT));
            }
            waiting = CompletableFuture.supplyAsync(() -> put(store, key(4), new byte[UNIT]), task ->
                new Thread(task).start());
            gate.awaitEntered();
            while (store.stats().putWaits() == 0) {
                Thread.onSpinWait();
            }
            final CompletableFuture<Void> closing = CompletableFuture.runAsync(store::close, task ->
                new Thread(task).start());
            assertInstanceOf(StoreException.class, assertThrows(CompletionException.class, waiting::join).getCause());
            gate.release();
            closing.join();
        }
    }

    @Test
    void shouldWaitForRoomOnlySoLong() throws Exception {
        try (EmbeddedStore store = open(tiered(4 * UNIT, 64 * UNIT).eviction(1, 0).putTimeoutMs(20));
            Faults.Gate gate = faults.blockNext(Faults.Call.WRITE)) {
            for (int i = 0; i < 4; i++) {
                put(store, key(i), PatternBytes.of(i, UNIT));
            }
            assertEquals(PutOutcome.NO_SPACE, put(store, key(4), new byte[UNIT]), "the offload hangs");
            gate.awaitEntered();
            gate.release();
        }
    }

    @Test
    void shouldKeepItsMemoryMappedWhenACallDoesNotEnd() throws Exception {
        final EmbeddedStore store = open(tiered(4 * UNIT, 64 * UNIT).closeTimeoutMs(0));
        put(store, KEY, PatternBytes.of(1, UNIT));
        final CompletableFuture<GetOutcome> reading;
        pushToDisk(store, 4 * UNIT);
        final MemorySegment target = room(UNIT);
        try (Faults.Gate gate = faults.blockNext(Faults.Call.READ)) {
            reading = CompletableFuture.supplyAsync(() -> store.get(KEY, target), task -> new Thread(task).start());
            gate.awaitEntered();
            assertEquals(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS,
                assertThrows(StoreException.class, store::close).code());
        }
        assertTrue(reading.join().hit());
        assertArrayEquals(PatternBytes.of(1, UNIT), PatternBytes.copyOf(target));
        store.close();
    }

    /** No wait is not one for ever. */
    @Test
    void shouldNotWaitForAnOffloadThatHangs() throws Exception {
        final EmbeddedStore store = open(tiered(4 * UNIT, 64 * UNIT).closeTimeoutMs(0));
        try (Faults.Gate gate = faults.blockNext(Faults.Call.WRITE)) {
            for (int i = 0; i < 5; i++) {
                put(store, key(i), PatternBytes.of(i, UNIT));
            }
            gate.awaitEntered();
            assertEquals(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS,
                assertThrows(StoreException.class, store::close).code());
        }
        Threads.awaitUntil(() -> {
            try {
                store.close();
                return true;
            } catch (final StoreException e) {
                return false;
            }
        }, () -> "it does not end");
    }

    @Test
    void shouldUseTheFileTransportsThatTheProcessIsConfiguredFor() {
        final StoreHooks hooks =
            new StoreHooks(clock, FileOpener.POSIX, Environment.of(Map.of("MC_TENT_CONF", "{}")));
        try (EmbeddedStore store = EmbeddedStore.open(tiered(4 * UNIT, 64 * UNIT).build(), hooks)) {
            put(store, KEY, PatternBytes.of(1, UNIT));
            pushToDisk(store, 4 * UNIT);

            final MemorySegment target = room(UNIT);
            assertTrue(store.get(KEY, target).hit());
            assertArrayEquals(PatternBytes.of(1, UNIT), PatternBytes.copyOf(target));
        }
    }

    @Override
    ClientStore open(final long memoryBytes, final long diskBytes) {
        return open(memoryOnly(memoryBytes).disk(directory, diskBytes));
    }

    private EmbeddedStore open(final StoreConfig.Builder config) {
        return EmbeddedStore.open(config.build(),
            new StoreHooks(clock, new FaultyFiles(faults), Environment.of(Map.of()), GdsTransport::open, devices()));
    }

    private static StoreConfig.Builder memoryOnly(final long bytes) {
        return StoreConfig.builder().memoryBytes(bytes).eviction(1, 0);
    }

    private StoreConfig.Builder tiered(final long memory, final long disk) {
        return StoreConfig.builder().memoryBytes(memory).disk(directory, disk).ioThreads(2);
    }

    /**
     * Puts as much again as memory holds, so that everything before it is on disk, and takes it away again. Returns
     * when nothing is being copied any more: a fault that a test sets next must not hit an offload.
     */
    private static void pushToDisk(final Store store, final int memoryBytes) {
        final int chunk = memoryBytes / 4;
        for (int i = 0; i < 8; i++) {
            assertEquals(PutOutcome.STORED, put(store, ObjectKey.of("push", "p" + i), PatternBytes.of(i, chunk)));
        }
        for (int i = 0; i < 8; i++) {
            store.remove(ObjectKey.of("push", "p" + i), true);
        }
        while (store.stats().memory().usedBytes() > 0) {
            Thread.onSpinWait();
        }
    }

    private static void assertPart(final Store store, final byte[] value, final int offset, final int length,
        final ReplicaType tier) {
        final MemorySegment part = room(length);
        assertEquals(new GetOutcome(true, value.length, tier), store.getRange(KEY, offset, part));
        assertArrayEquals(Arrays.copyOfRange(value, offset, offset + length), PatternBytes.copyOf(part));
    }

    private static void flipOneBit(final Path file, final byte[] value) throws IOException {
        final byte[] all = Files.readAllBytes(file);
        for (int at = 0; at + value.length <= all.length; at += UNIT) {
            if (Arrays.equals(all, at, at + value.length, value, 0, value.length)) {
                all[at + value.length / 2] ^= 1;
                Files.write(file, all);
                return;
            }
        }
        throw new AssertionError("the value is not in " + file);
    }

    private List<String> files() {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String present(final Store store, final int keys) {
        return IntStream.range(0, keys).filter(i -> store.stat(key(i)).isPresent())
            .mapToObj(String::valueOf).collect(Collectors.joining(" "));
    }
}
