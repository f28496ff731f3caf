package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Many threads on the same few keys, under constant eviction, offload, promotion and removal. Every word of a value
 * holds a number that belongs to one put of one key, so that a mixture, a part or another key's value is seen at once.
 */
@ExtendWith(LeakCheck.class)
class EmbeddedStoreStress {
    private static final int THREADS = 6;
    private static final int KEYS = 40;
    private static final int OPERATIONS = 6_000;
    private static final int[] WORDS = {1, 511, 512, 513, 2_000, 4_096};

    @TempDir
    private Path directory;

    @ParameterizedTest(name = "virtual threads: {0}")
    @ValueSource(booleans = {false, true})
    void shouldNeverMixValues(final boolean virtual) throws Exception {
        final StoreConfig config = StoreConfig.builder().memoryBytes(64 * 4096).disk(directory, 60 * 4096)
            .eviction(0.9, 0.1).diskWatermarks(0.95, 0.8).ioThreads(2).build();
        final ThreadFactory factory = virtual ? Thread.ofVirtual().factory() : Thread.ofPlatform().factory();
        try (Store store = Store.open(config)) {
            try (ExecutorService threads = Executors.newThreadPerTaskExecutor(factory)) {
                final List<Future<?>> runs = new ArrayList<>();
                for (int i = 0; i < THREADS; i++) {
                    final long seed = i;
                    runs.add(threads.submit(() -> run(store, seed)));
                }
                for (final Future<?> run : runs) {
                    run.get();
                }
            }
            final EmbeddedStore embedded = (EmbeddedStore) store;
            while (embedded.masterStats().heldReplicas() > 0) {
                Thread.onSpinWait();
            }
            assertTrue(store.stats().offloads() > 0 && store.stats().promotions() > 0
                && store.stats().disk().evictions() > 0, "the tiers were not under pressure: " + store.stats());
            assertEquals(0, store.stats().unreadable().checksumMismatches());
            for (int i = 0; i < KEYS; i++) {
                store.remove(key(i), true);
            }
            assertEquals(0, store.stats().objects());
            assertEquals(0, store.stats().memory().usedBytes());
        }
    }

    private static void run(final Store store, final long seed) {
        final SplittableRandom random = new SplittableRandom(seed);
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment memory = arena.allocate(4_096 * Long.BYTES, 64);
            for (int i = 0; i < OPERATIONS; i++) {
                final int key = random.nextInt(KEYS);
                switch (random.nextInt(8)) {
                    case 0, 1, 2 -> put(store, random, key, memory);
                    case 3 -> store.remove(key(key), random.nextBoolean());
                    case 4 -> part(store, random, key, memory);
                    default -> check(key, store.get(key(key), memory), memory);
                }
            }
        }
    }

    private static void put(final Store store, final SplittableRandom random, final int key,
        final MemorySegment memory) {
        final int words = WORDS[random.nextInt(WORDS.length)];
        final long stamp = random.nextLong() << 8 | key;
        for (int w = 0; w < words; w++) {
            memory.setAtIndex(ValueLayout.JAVA_LONG, w, stamp);
        }
        final PutOutcome outcome = store.put(key(key), memory.asSlice(0, (long) words * Long.BYTES));
        assertTrue(outcome != PutOutcome.NO_SPACE, "there is always something to evict");
    }

    private static void part(final Store store, final SplittableRandom random, final int key,
        final MemorySegment memory) {
        final GetOutcome outcome = store.getRange(key(key), 0, memory.asSlice(0, Long.BYTES));
        if (outcome.hit()) {
            assertEquals(key, (int) (memory.get(ValueLayout.JAVA_LONG, 0) & 0xff));
        }
    }

    private static void check(final int key, final GetOutcome outcome, final MemorySegment memory) {
        if (!outcome.hit()) {
            return;
        }
        final long stamp = memory.get(ValueLayout.JAVA_LONG, 0);
        assertEquals(key, (int) (stamp & 0xff), "the value of another key");
        for (long w = 0; w < outcome.valueSize() / Long.BYTES; w++) {
            assertEquals(stamp, memory.getAtIndex(ValueLayout.JAVA_LONG, w), "a mixture of two values");
        }
    }

    private static ObjectKey key(final int i) {
        return ObjectKey.of("key" + i);
    }
}
