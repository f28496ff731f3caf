package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Jvm;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.Threads;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.replica.ReplicaType;
import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * A process with a file for GDS replicas puts, evicts and removes, and is killed at a random point, again and again on
 * one file. Whoever opens the file next reads a whole value that was put, or nothing, and nothing that was removed.
 */
@ExtendWith(LeakCheck.class)
class GdsKillTest {
    private static final int ROUNDS = 8;
    private static final int MOST_LINES = 400;
    private static final int KEYS = 24;
    private static final int UNIT = StoreContract.UNIT;
    private static final int MOST_WORDS = 5 * UNIT / Long.BYTES;
    private static final long STAMPS_A_ROUND = 1_000_000;
    private static final long SEED = 20_261_130L;

    @TempDir
    private Path directory;
    private final Map<ObjectKey, History> histories = new HashMap<>();
    private long stored;
    private long removed;
    private long found;

    /** What a file has to have of a key: stamps only grow. */
    private static final class History {
        private final Map<Long, Integer> words = new HashMap<>();
        /** That was put last when a removal was known to have ended. */
        private long removed = -1;
        private long last = -1;
    }

    private static GdsConfig gds(final Path directory) {
        // Room for a part of the keys: what is put makes others go.
        return GdsConfig.NONE.withRoom(directory.resolve("gds"), 32 * UNIT).withTransport(GdsConfig.Mover.POSIX);
    }

    private static ClientStore open(final Path directory, final int port) {
        return port == 0
            ? EmbeddedStore.open(StoreConfig.builder().memoryBytes(4 * UNIT).eviction(1, 0).leaseMs(0)
                .gds(gds(directory)).build(), StoreHooks.SYSTEM)
            : ConnectedStore.open(ConnectConfig.builder("127.0.0.1", port).memoryBytes(4 * UNIT).shm(false)
                .gds(gds(directory)).build(), StoreHooks.SYSTEM);
    }

    /** The process that is killed: says on its standard output what it is about to do and what it was told. */
    static final class Victim {
        private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.US_ASCII);
        private final boolean isAlone;
        private final SplittableRandom random;
        private long stamp;

        private Victim(final boolean isAlone, final long seed, final long stamp) {
            this.isAlone = isAlone;
            this.random = new SplittableRandom(seed);
            this.stamp = stamp;
        }

        public static void main(final String[] arguments) {
            final int port = Integer.parseInt(arguments[1]);
            final Victim victim = new Victim(port == 0, Long.parseLong(arguments[2]), Long.parseLong(arguments[3]));
            try (ClientStore store = open(Path.of(arguments[0]), port);
                Arena arena = Arena.ofShared()) {
                final MemorySegment memory = arena.allocate((long) MOST_WORDS * Long.BYTES, UNIT);
                victim.out.println("ready");
                while (true) {
                    victim.work(store, memory);
                }
            }
        }

        private void work(final ClientStore store, final MemorySegment memory) {
            final ObjectKey key = ObjectKey.of("k" + random.nextInt(KEYS));
            if (random.nextInt(4) == 0) {
                say("removing", key, 0);
                final RemoveOutcome outcome = store.remove(key, true);
                final boolean gone = outcome == RemoveOutcome.REMOVED || outcome == RemoveOutcome.NOT_FOUND;
                say(gone ? "removed" : "left", key, 0);
                return;
            }
            final int words = 1 + random.nextInt(MOST_WORDS);
            stamp++;
            for (int w = 0; w < words; w++) {
                memory.setAtIndex(ValueLayout.JAVA_LONG, w, stamp);
            }
            say("try", key, words);
            try {
                final PutOutcome outcome = store.put(key, memory.asSlice(0, (long) words * Long.BYTES));
                say(outcome == PutOutcome.STORED ? "stored" : "refused", key, words);
            } catch (final StoreException e) {
                // A master that lives on gives out the memory of a process that was killed until it has noticed.
                if (isAlone || e.code() != ErrorCode.TRANSFER_FAIL) {
                    throw e;
                }
                say("failed", key, words);
            }
        }

        private void say(final String what, final ObjectKey key, final int words) {
            out.println(what + ' ' + key.key() + ' ' + stamp + ' ' + words + " .");
        }
    }

    @Test
    void shouldHaveWholeValuesAndNothingThatWasRemovedInAnEmbeddedStore() {
        killAgainAndAgain(0);
    }

    @Test
    void shouldHaveWholeValuesAndNothingThatWasRemovedInAClientOfAMasterThatLivesOn() {
        // So long that nobody who is only slow is taken for dead: that a process is gone shows when the next one
        // registers its file.
        try (Cluster cluster = new Cluster(Cluster.settings(1, 0, 20_000))) {
            killAgainAndAgain(cluster.port());
        }
    }

    private void killAgainAndAgain(final int port) {
        final SplittableRandom random = new SplittableRandom(SEED);
        for (int round = 0; round < ROUNDS; round++) {
            final int lines = 1 + random.nextInt(MOST_LINES);
            final String where = "seed " + SEED + ", round " + round + ", killed after " + lines + " lines";
            killAfter(lines, port, random.nextLong(), (round + 1) * STAMPS_A_ROUND);
            try (ClientStore store = open(directory, port)) {
                verify(store);
            } catch (final AssertionError | RuntimeException e) {
                throw new AssertionError(where, e);
            }
        }
        assertTrue(stored > 50, () -> "the processes stored only " + stored + " values");
        assertTrue(removed > 50, () -> "the processes removed only " + removed + " times");
        assertTrue(found > ROUNDS, () -> "only " + found + " values outlived their process");
    }

    private void killAfter(final int lines, final int port, final long seed, final long stamp) {
        try (Jvm victim = Jvm.start(Victim.class, directory.toString(), Integer.toString(port), Long.toString(seed),
            Long.toString(stamp))) {
            victim.killAt(lines, this::apply);
        }
    }

    private void apply(final String[] said) {
        final History history = histories.computeIfAbsent(ObjectKey.of(said[1]), any -> new History());
        final long stamp = Long.parseLong(said[2]);
        switch (said[0]) {
            case "try" -> {
                history.words.put(stamp, Integer.parseInt(said[3]));
                history.last = stamp;
            }
            case "stored" -> stored++;
            case "removed" -> {
                history.removed = history.last;
                removed++;
            }
            case "removing", "left", "refused", "failed" -> {
                // All is as it was, or may be.
            }
            default -> throw new AssertionError("unknown: " + String.join(" ", said));
        }
    }

    private void verify(final ClientStore store) {
        try (Arena arena = Arena.ofShared()) {
            final MemorySegment memory = arena.allocate((long) MOST_WORDS * Long.BYTES, UNIT);
            histories.forEach((key, history) -> {
                final GetOutcome outcome = store.get(key, memory);
                if (outcome.hit()) {
                    assertEquals(ReplicaType.GDS, outcome.tier(), "memory went with the process");
                    check(key, history, memory.asSlice(0, outcome.valueSize()));
                    found++;
                }
            });
        }
        // What was begun and never ended takes no room.
        Threads.awaitUntil(() -> store.stats().gds().unsettled() == 0
            && store.stats().gds().tier().usedBytes() == store.masterStats().gds().used(),
            () -> store.stats().gds() + ", and the master: " + store.masterStats().gds());
    }

    private static void check(final ObjectKey key, final History history, final MemorySegment value) {
        final long stamp = value.get(ValueLayout.JAVA_LONG, 0);
        assertNotNull(history.words.get(stamp), () -> "nobody put " + stamp + " as " + key);
        assertTrue(stamp > history.removed, () -> key + " came back: " + stamp + ", removed " + history.removed);
        assertEquals(history.words.get(stamp).longValue(), value.byteSize() / Long.BYTES, () -> "size of " + key);
        for (long w = 0; w < value.byteSize() / Long.BYTES; w++) {
            assertEquals(stamp, value.getAtIndex(ValueLayout.JAVA_LONG, w), () -> "a mixture of values as " + key);
        }
    }
}
