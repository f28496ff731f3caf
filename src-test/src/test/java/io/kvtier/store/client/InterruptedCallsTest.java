package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Calls of a thread that is interrupted, in a store of this process and in one that is shared. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class InterruptedCallsTest {
    private static final int UNIT = StoreContract.UNIT;
    /** Never over in a test. */
    private static final long PUT_TIMEOUT_MS = 1_000_000_000;
    private static final UUID WRITER = UUID.randomUUID();
    private static final ObjectKey TAKEN = ObjectKey.of("taken");

    private Cluster cluster;
    private ClientStore store;
    /** Of a put that does not end, and so keeps room that may come free. */
    private PutStartReply.Started writing;

    /** Which store. */
    enum Kind {
        /** In this process. */
        EMBEDDED,
        /** With a master. */
        SHARED
    }

    @AfterEach
    void close() {
        store.close();
        if (cluster != null) {
            cluster.close();
        }
    }

    /** A store of which so many units are free. */
    private void open(final Kind kind, final int free, final long putTimeoutMs) {
        final int taken = 4;
        final long bytes = (long) (taken + free) * UNIT;
        if (kind == Kind.EMBEDDED) {
            store = EmbeddedStore.open(StoreConfig.builder().memoryBytes(bytes).eviction(1, 0)
                .putTimeoutMs(putTimeoutMs).build(), StoreHooks.SYSTEM);
        } else {
            cluster = new Cluster(Cluster.settings(1, 0));
            cluster.join(config -> config.memoryBytes(bytes).shm(false));
            store = cluster.join(config -> config.putTimeoutMs(putTimeoutMs));
        }
        writing = assertInstanceOf(PutStartReply.Started.class, store.parts().master().apply(
            new ObjectCommand.PutStart(WRITER, 1, TAKEN, taken * UNIT, PutOptions.DEFAULT, false)));
    }

    private void giveRoom() {
        store.parts().master().apply(new ObjectCommand.PutRevoke(WRITER, TAKEN, writing.version(), Scope.ALL));
    }

    /** Runs a call and says whether its thread is interrupted afterwards. */
    private record Run<T>(T result, RuntimeException failure, boolean interrupted) {
        static <T> Run<T> of(final Callable<T> call) throws Exception {
            try {
                return new Run<>(call.call(), null, Thread.interrupted());
            } catch (final RuntimeException e) {
                return new Run<>(null, e, Thread.interrupted());
            }
        }
    }

    private static <T> Run<T> interrupted(final Callable<T> call) throws ExecutionException, InterruptedException {
        final FutureTask<Run<T>> task = new FutureTask<>(() -> {
            Thread.currentThread().interrupt();
            return Run.of(call);
        });
        Thread.ofPlatform().daemon().start(task);
        return task.get();
    }

    private static void assertInterrupted(final Run<?> run, final String key) {
        final StoreException why = assertInstanceOf(StoreException.class, run.failure());
        assertEquals(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, why.code());
        assertTrue(why.getMessage().contains("interrupted") && why.getMessage().contains(key), why.getMessage());
        assertTrue(run.interrupted(), "whoever called sees it, too");
    }

    /** That there is no room would not be true: some may have come the moment after. */
    @ParameterizedTest
    @CsvSource({"EMBEDDED, false", "EMBEDDED, true", "SHARED, false", "SHARED, true"})
    void shouldEndThePutThatWaitsAndSayWhy(final Kind kind, final boolean virtual) throws Exception {
        open(kind, 0, PUT_TIMEOUT_MS);
        final byte[] value = PatternBytes.of(1, UNIT);
        final FutureTask<Run<PutOutcome>> put =
            new FutureTask<>(() -> Run.of(() -> StoreContract.put(store, StoreContract.KEY, value)));
        final Thread thread = (virtual ? Thread.ofVirtual() : Thread.ofPlatform().daemon()).start(put);
        while (store.stats().putWaits() == 0) {
            Thread.onSpinWait();
        }

        thread.interrupt();

        assertInterrupted(put.get(), "default/key");
        giveRoom();
        assertFalse(store.exists(StoreContract.KEY));
        assertEquals(0, store.masterStats().pendingWrites());
        assertEquals(PutOutcome.STORED, StoreContract.put(store, StoreContract.KEY, value), "once more, as it says");
        assertArrayEquals(value, store.getBytes(StoreContract.KEY).orElseThrow());
    }

    @ParameterizedTest
    @EnumSource
    void shouldStoreWhatABatchHasRoomForAndNotWaitForTheRest(final Kind kind) throws Exception {
        open(kind, 1, PUT_TIMEOUT_MS);
        final List<Store.Item> items = List.of(item("large", 2), item("small", 1), item("late", 3));

        final Run<List<BatchResult<PutOutcome>>> run = interrupted(() -> store.putBatch(items));

        final List<BatchResult<PutOutcome>> results = run.result();
        assertInterrupted(new Run<>(null, results.get(0).failure(), run.interrupted()), "large");
        assertEquals(PutOutcome.STORED, results.get(1).orThrow());
        assertInterrupted(new Run<>(null, results.get(2).failure(), run.interrupted()), "late");
        giveRoom();
    }

    @ParameterizedTest
    @EnumSource
    void shouldSayThatThereIsNoRoomWhereAPutDoesNotWait(final Kind kind) throws Exception {
        open(kind, 0, 0);
        final Run<PutOutcome> run = interrupted(() -> StoreContract.put(store, StoreContract.KEY, new byte[UNIT]));
        assertEquals(new Run<>(PutOutcome.NO_SPACE, null, true), run);
        giveRoom();
    }

    @ParameterizedTest
    @EnumSource
    void shouldCarryOutWhatDoesNotWaitForRoom(final Kind kind) throws Exception {
        open(kind, 2, PUT_TIMEOUT_MS);
        final byte[] value = PatternBytes.of(3, UNIT + 1);
        final Run<RemoveOutcome> run = interrupted(() -> {
            assertEquals(PutOutcome.STORED, StoreContract.put(store, StoreContract.KEY, value));
            assertArrayEquals(value, store.getBytes(StoreContract.KEY).orElseThrow());
            assertTrue(store.exists(StoreContract.KEY));
            assertEquals(List.of(new Store.Found(StoreContract.KEY, value.length)), store.find("", "^key$"));
            return store.remove(StoreContract.KEY, true);
        });
        assertEquals(new Run<>(RemoveOutcome.REMOVED, null, true), run);
        giveRoom();
    }

    private static Store.Item item(final String key, final int units) {
        return Store.Item.of(ObjectKey.of(key), MemorySegment.ofArray(new byte[units * UNIT]));
    }
}
