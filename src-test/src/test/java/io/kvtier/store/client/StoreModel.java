package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.kvtier.kit.Faults;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.ManualClock;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.StoreStats;
import io.kvtier.store.ValueInfo;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.config.Environment;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.replica.ReplicaType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A store beside the plain map of what it may hold. Values may vanish (eviction, restart), so a miss is always right;
 * but a hit must be the whole value that was put last, a removed key must not come back, and the counts must add up.
 */
final class StoreModel implements AutoCloseable {
    static final int DISK_UNITS = 24;
    static final int GDS_UNITS = 20;
    private static final int KEYS = 12;
    private static final int MEMORY_UNITS = 16;
    private static final long UNIT = 4096;
    private static final long SETTLE_SECONDS = 20;

    /** One operation of a sequence; a failed sequence prints the texts. */
    record Step(String text, Consumer<StoreModel> body) {
        void apply(final StoreModel model) {
            body.accept(model);
        }

        @Override
        public String toString() {
            return text;
        }
    }

    private final ManualClock clock = new ManualClock(1_000_000);
    private final long leaseMs;
    private final int diskUnits;
    private final int gdsUnits;
    private final Path directory;
    private final Map<ObjectKey, byte[]> values = new HashMap<>();
    /** Removed values whose removal could not be written down: a restart may find them. */
    private final Map<ObjectKey, byte[]> mayReturn = new HashMap<>();
    private Faults faults = new Faults();
    private boolean faulty;
    private EmbeddedStore store;

    StoreModel(final long leaseMs, final int diskUnits, final int gdsUnits) {
        this.leaseMs = leaseMs;
        this.diskUnits = diskUnits;
        this.gdsUnits = gdsUnits;
        try {
            // Thousands of steps with a sync each: in memory where the system has such a file system.
            final Path shm = Path.of("/dev/shm");
            directory = Files.isWritable(shm) ? Files.createTempDirectory(shm, "kvtier-model")
                : Files.createTempDirectory("kvtier-model");
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
        open();
    }

    void put(final int index, final int size, final int seed) {
        final ObjectKey key = key(index);
        final byte[] value = PatternBytes.of(seed, size);
        final int cut = size / 3;
        final MemorySegment memory = MemorySegment.ofArray(value);
        final PutOutcome outcome;
        try {
            outcome = store.put(key, memory.asSlice(0, cut), memory.asSlice(cut));
        } catch (final StoreException e) {
            assertTrue(faulty && gdsUnits > 0 && e.code() == ErrorCode.TRANSFER_FAIL, "nothing fails, but: " + e);
            return;
        }
        switch (outcome) {
            case STORED -> {
                values.put(key, value);
                mayReturn.remove(key);
            }
            case ALREADY_EXISTS -> assertNotNull(values.get(key), key + " exists but was never put, or was removed");
            case NO_SPACE -> assertTrue(leaseMs > 0, "nothing is leased, so something can be evicted");
            default -> fail("nobody else writes, but the outcome was " + outcome);
        }
    }

    void get(final int index) {
        final ObjectKey key = key(index);
        final Optional<byte[]> found = store.getBytes(key);
        found.ifPresent(bytes -> assertArrayEquals(expected(key), bytes));
    }

    void getRange(final int index, final int offset, final int length) {
        final ObjectKey key = key(index);
        final byte[] part = new byte[length];
        final GetOutcome outcome;
        try {
            outcome = store.getRange(key, offset, MemorySegment.ofArray(part).asSlice(0, length / 2),
                MemorySegment.ofArray(part).asSlice(length / 2));
        } catch (final StoreException e) {
            assertTrue(offset + length > expected(key).length, "refused, but the part lies inside: " + e);
            return;
        }
        if (outcome.hit()) {
            final byte[] whole = expected(key);
            assertEquals(whole.length, outcome.valueSize());
            assertArrayEquals(Arrays.copyOfRange(whole, offset, offset + length), part);
        }
    }

    void getBatch(final List<Integer> indexes) {
        final List<byte[]> memory = indexes.stream().map(index -> new byte[32_768]).toList();
        final List<BatchResult<GetOutcome>> results = store.getBatch(IntStream.range(0, indexes.size())
            .mapToObj(i -> Store.Item.of(key(indexes.get(i)), MemorySegment.ofArray(memory.get(i)))).toList());
        for (int i = 0; i < indexes.size(); i++) {
            final GetOutcome outcome = results.get(i).orThrow();
            if (outcome.hit()) {
                assertArrayEquals(expected(key(indexes.get(i))),
                    Arrays.copyOf(memory.get(i), (int) outcome.valueSize()));
            }
        }
    }

    void exists(final int index) {
        assertEquals(store.stat(key(index)).isPresent(), store.exists(key(index)));
    }

    void remove(final int index, final boolean force) {
        final ObjectKey key = key(index);
        final RemoveOutcome outcome;
        try {
            outcome = store.remove(key, force);
        } catch (final StoreException e) {
            assertTrue(faulty, "no file fails, but removing did: " + e);
            mayReturn.put(key, values.remove(key));
            return;
        }
        switch (outcome) {
            case REMOVED -> values.remove(key);
            case NOT_FOUND -> assertFalse(store.exists(key));
            case LEASED -> assertTrue(leaseMs > 0 && !force);
            default -> fail("nobody writes, but the outcome was " + outcome);
        }
    }

    void advance(final int ms) {
        clock.advance(ms);
    }

    void failNth(final Faults.Call call, final int n, final int errno) {
        faulty = true;
        faults.failNth(call, n, errno);
    }

    void restart() {
        final Set<ObjectKey> onDisk = keysIn(ReplicaType.LOCAL_DISK);
        final Set<ObjectKey> inFile = keysIn(ReplicaType.GDS);
        boolean clean = !faulty;
        try {
            store.close();
        } catch (final RuntimeException e) {
            assertTrue(faulty, "no file fails, but closing did: " + e);
            clean = false;
        }
        open();
        final Set<ObjectKey> found = keysIn(ReplicaType.LOCAL_DISK);
        final Set<ObjectKey> foundInFile = keysIn(ReplicaType.GDS);
        if (clean) {
            assertEquals(inFile, foundInFile, "what was in the file before the restart is there after it");
            assertEquals(bytesOf(foundInFile), store.stats().gds().tier().usedBytes());
            assertEquals(onDisk, found, "what was on disk before the restart is there after it, and nothing else");
            assertEquals(bytesOf(found), store.stats().disk().usedBytes());
        }
        Stream.concat(found.stream(), foundInFile.stream()).filter(key -> !values.containsKey(key)).forEach(key -> {
            assertTrue(mayReturn.containsKey(key), key + " was removed and came back");
            values.put(key, mayReturn.remove(key));
        });
    }

    /** The invariants that hold whenever nothing is under way. */
    void check() {
        settle(() -> store.masterStats().offloadsPending() == 0 && store.masterStats().heldReplicas() == 0);
        MasterStats stats;
        Set<ObjectKey> inMemory;
        Set<ObjectKey> onDisk;
        Set<ObjectKey> inFile;
        do {
            stats = store.masterStats();
            inMemory = keysIn(ReplicaType.MEMORY);
            onDisk = keysIn(ReplicaType.LOCAL_DISK);
            inFile = keysIn(ReplicaType.GDS);
            // A value that a failed sync may have lost goes when the file's index has found out, whenever that is.
        } while (!counts(stats).equals(counts(store.masterStats())));
        final Set<ObjectKey> present = new HashSet<>(inMemory);
        present.addAll(onDisk);
        present.addAll(inFile);
        assertTrue(values.keySet().containsAll(present), "a key is there that was removed or never put: " + present);
        assertEquals(present.size(), stats.objects());
        assertEquals(inMemory.size(), stats.memoryReplicas());
        assertEquals(onDisk.size(), stats.diskReplicas());
        assertEquals(bytesOf(inMemory), stats.memoryUsed(), "memory in use is the sum over the replicas");
        assertEquals(inFile.size(), stats.gds().replicas());
        // What a failed sync may have lost is found to be gone by the next reader.
        assertTrue(faulty || bytesOf(inFile) <= store.stats().gds().tier().usedBytes(), "a GDS replica has no extent");
        assertTrue(bytesOf(onDisk) <= store.stats().disk().usedBytes(), "a disk replica has no extent");
        if (!faulty) {
            assertEquals(0, stats.offloadFailures());
            assertEquals(0, store.stats().unreadable().ioErrors());
            assertEquals(0, store.stats().unreadable().checksumMismatches());
            assertEquals(0, store.stats().gds().unsettled());
            final StoreStats.GdsFaults wrong = store.stats().gds().faults();
            assertEquals(List.of(0L, 0L, 0L, 0L),
                List.of(wrong.refused(), wrong.writeFailures(), wrong.readFailures(), wrong.stale()));
        }
    }

    private static List<Long> counts(final MasterStats stats) {
        return List.of(stats.objects(), stats.memoryReplicas(), stats.diskReplicas(), stats.gds().replicas(),
            stats.memoryUsed());
    }

    @Override
    public void close() {
        try {
            store.close();
        } catch (final RuntimeException e) {
            assertTrue(faulty, "no file fails, but closing did: " + e);
        }
        try (Stream<Path> files = Files.walk(directory)) {
            for (final Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void open() {
        faults = new Faults();
        faulty = false;
        final StoreConfig.Builder config = StoreConfig.builder().memoryBytes(MEMORY_UNITS * UNIT).leaseMs(leaseMs)
            .ioThreads(2).diskWatermarks(1, 1);
        if (diskUnits > 0) {
            config.disk(directory, diskUnits * UNIT);
        }
        config.gds(gdsUnits == 0 ? GdsConfig.NONE : GdsConfig.NONE.withRoom(directory.resolve("gds"), gdsUnits * UNIT)
            .withTransport(GdsConfig.Mover.POSIX).withWatermarks(1, 0.5));
        store = EmbeddedStore.open(config.build(),
            new StoreHooks(clock, new FaultyFiles(faults), Environment.of(Map.of())));
    }

    private byte[] expected(final ObjectKey key) {
        final byte[] value = values.get(key);
        assertNotNull(value, key + " was read but was removed, or never put");
        return value;
    }

    private Set<ObjectKey> keysIn(final ReplicaType tier) {
        final Set<ObjectKey> keys = new HashSet<>();
        for (int i = 0; i < KEYS; i++) {
            final Optional<ValueInfo> info = store.stat(key(i));
            if (info.isPresent() && info.get().tiers().contains(tier)) {
                keys.add(key(i));
            }
        }
        return keys;
    }

    private long bytesOf(final Set<ObjectKey> keys) {
        return keys.stream().mapToLong(key -> Math.max(UNIT, (store.stat(key).orElseThrow().size() + UNIT - 1) / UNIT
            * UNIT)).sum();
    }

    private static ObjectKey key(final int index) {
        return ObjectKey.of("tenant" + index % 2, "key" + index / 2);
    }

    private static void settle(final BooleanSupplier settled) {
        final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SETTLE_SECONDS);
        while (!settled.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "what was under way did not end");
            Thread.yield();
        }
    }
}
