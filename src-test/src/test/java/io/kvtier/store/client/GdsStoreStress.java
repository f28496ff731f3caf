package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.Threads;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.client.engine.StoreHooks;
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
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * 64 threads that write and 64 that read values of a small file, which is always full: whatever is read is all of one
 * value of the key that was asked for. {@code -Dkvtier.gds.seconds=60} goes on for longer.
 */
@ExtendWith(LeakCheck.class)
class GdsStoreStress {
    private static final int SECONDS = Integer.getInteger("kvtier.gds.seconds", 4);
    private static final int WRITERS = 64;
    private static final int READERS = 64;
    private static final int KEYS = 60;
    private static final int[] WORDS = {1, 511, 512, 513, 2_000, 4_096};

    @TempDir
    private Path directory;
    private final LongAdder stored = new LongAdder();
    private final LongAdder hits = new LongAdder();
    private volatile boolean ended;

    @Test
    void shouldNeverReadABitOfAnotherValue() throws Exception {
        final StoreConfig config = StoreConfig.builder().memoryBytes(4 * 4096).eviction(1, 0).leaseMs(0)
            .gds(GdsConfig.NONE.withRoom(directory.resolve("gds"), 128 * 4096)
                .withTransport(GdsConfig.Mover.POSIX)).build();
        try (EmbeddedStore store = EmbeddedStore.open(config, StoreHooks.SYSTEM)) {
            try (ExecutorService threads = Executors.newThreadPerTaskExecutor(Thread.ofPlatform().factory())) {
                final List<Future<?>> runs = new ArrayList<>();
                for (int i = 0; i < WRITERS + READERS; i++) {
                    final int number = i;
                    runs.add(threads.submit(() -> run(store, number)));
                }
                try {
                    LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(SECONDS));
                    // None ends by itself, unless it fails: then the others need not go on.
                    Threads.awaitUntil(() -> runs.stream().anyMatch(Future::isDone)
                        || hits.sum() > 0 && store.masterStats().gds().counts().evictions() > 0,
                        () -> hits + " hits, " + stored + " puts, " + store.masterStats().gds());
                } finally {
                    ended = true;
                }
                for (final Future<?> run : runs) {
                    run.get();
                }
            }
            assertTrue(stored.sum() > 0, "nothing was put");
            store.removeAll("", true);
            Threads.awaitUntil(() -> store.stats().gds().tier().usedBytes() == 0
                && store.stats().gds().unsettled() == 0, () -> "not all is free: " + store.stats().gds());
            assertEquals(List.of(0L, 0L, 0L), List.of(store.masterStats().gds().used(),
                store.masterStats().heldReplicas(), store.masterStats().objects()));
        }
    }

    private void run(final EmbeddedStore store, final int number) {
        final SplittableRandom random = new SplittableRandom(number);
        try (Arena arena = Arena.ofShared()) {
            final MemorySegment memory = arena.allocate(4_096 * Long.BYTES, 4096);
            // Each does something, however slow the machine is.
            do {
                final int key = random.nextInt(KEYS);
                if (number >= WRITERS) {
                    check(key, store.get(ObjectKey.of("k" + key), memory), memory);
                } else if (random.nextInt(4) == 0) {
                    store.remove(ObjectKey.of("k" + key), random.nextBoolean());
                } else {
                    put(store, random, key, memory);
                }
            } while (!ended);
        }
    }

    private void put(final EmbeddedStore store, final SplittableRandom random, final int key,
        final MemorySegment memory) {
        final int words = WORDS[random.nextInt(WORDS.length)];
        final long stamp = random.nextLong() << 8 | key;
        for (int w = 0; w < words; w++) {
            memory.setAtIndex(ValueLayout.JAVA_LONG, w, stamp);
        }
        if (store.put(ObjectKey.of("k" + key), memory.asSlice(0, (long) words * Long.BYTES)) == PutOutcome.STORED) {
            stored.increment();
        }
    }

    private void check(final int key, final GetOutcome outcome, final MemorySegment memory) {
        if (!outcome.hit()) {
            return;
        }
        hits.increment();
        final long stamp = memory.get(ValueLayout.JAVA_LONG, 0);
        assertEquals(key, (int) (stamp & 0xff), "the value of another key");
        for (long w = 0; w < outcome.valueSize() / Long.BYTES; w++) {
            assertEquals(stamp, memory.getAtIndex(ValueLayout.JAVA_LONG, w), "a mixture of two values");
        }
    }
}
