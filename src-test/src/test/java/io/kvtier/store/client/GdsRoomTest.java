package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.call.Pressure;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.client.gds.GdsInside;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.storage.Extent;
import io.kvtier.store.storage.GdsLease;
import io.kvtier.store.storage.GdsReservation;
import io.kvtier.store.storage.GdsStorageManager;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Puts of what only the file can hold, while that is full: memory holds no more than a unit. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GdsRoomTest {
    private static final int UNIT = StoreContract.UNIT;
    /** Never over in a test. */
    private static final long PUT_TIMEOUT_MS = 1_000_000_000;
    private static final ObjectKey FIRST = ObjectKey.of("first");
    private static final ObjectKey SECOND = ObjectKey.of("second");
    /** Two of these do not fit into the file. */
    private static final byte[] VALUE = PatternBytes.of(1, 2 * UNIT + 9);

    @TempDir
    private Path directory;
    private Cluster cluster;
    private ClientStore store;
    private Thread thread;

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

    private void open(final Kind kind, final long putTimeoutMs) {
        open(kind, putTimeoutMs, 0);
    }

    /** A store with a file of four units; of one with a master the lease is the master's. */
    private void open(final Kind kind, final long putTimeoutMs, final long leaseMs) {
        final GdsConfig gds = GdsConfig.NONE.withRoom(directory.resolve("gds"), 4 * UNIT)
            .withTransport(GdsConfig.Mover.POSIX).withWatermarks(1, 0.5);
        if (kind == Kind.EMBEDDED) {
            store = EmbeddedStore.open(StoreConfig.builder().memoryBytes(UNIT).eviction(1, 0).gds(gds)
                .leaseMs(leaseMs).putTimeoutMs(putTimeoutMs).build(), StoreHooks.SYSTEM);
        } else {
            cluster = new Cluster(Cluster.settings(1, 0));
            store = cluster.join(config -> config.name("node").memoryBytes(UNIT).shm(false).gds(gds)
                .putTimeoutMs(putTimeoutMs));
        }
    }

    private GdsStorageManager storage() {
        return GdsInside.storage(store.parts().file());
    }

    /** A hold of this process on a value that is there. */
    private GdsLease lease(final ObjectKey key) {
        final ReadReply reply = store.parts().master().apply(new ObjectCommand.Query(key));
        final ReplicaDescriptor.Gds place =
            assertInstanceOf(ReplicaDescriptor.Gds.class, reply.replicas().getFirst().descriptor());
        return storage().acquire(key, reply.version(), new Extent(place.valueOffset(), place.allocatedSize()),
            place.valueSize());
    }

    /** Something that waits for room in the file when this returns. */
    private <T> FutureTask<T> waiting(final Supplier<T> call) {
        final FutureTask<T> task = new FutureTask<>(call::get);
        thread = Thread.ofPlatform().daemon().start(task);
        Threads.awaitInside(thread, GdsInside.ROOM, "await");
        Threads.awaitInside(thread, Pressure.class, "await");
        return task;
    }

    private FutureTask<PutOutcome> waitingPut() {
        return waiting(() -> StoreContract.put(store, SECOND, VALUE));
    }

    private void assertSecondStored() {
        GdsStoreContract.assertValue(store, SECOND, VALUE, ReplicaType.GDS);
        assertFalse(store.exists(FIRST), "it made way");
        assertEquals(1, store.stats().putWaits());
        assertEquals(0, store.stats().gds().faults().noRoom(), "it has found some");
    }

    @ParameterizedTest
    @EnumSource
    void shouldWaitForTheEndOfAReadOfWhatWasDropped(final Kind kind) throws Exception {
        open(kind, PUT_TIMEOUT_MS);
        StoreContract.put(store, FIRST, VALUE);
        final GdsLease lease = lease(FIRST);
        final FutureTask<PutOutcome> put = waitingPut();
        lease.close();
        assertEquals(PutOutcome.STORED, put.get());
        assertSecondStored();
    }

    @ParameterizedTest
    @EnumSource
    void shouldWaitForWhatIsBeingWritten(final Kind kind) throws Exception {
        open(kind, PUT_TIMEOUT_MS);
        final GdsReservation writing = storage().reserve(FIRST, VALUE.length);
        final FutureTask<PutOutcome> put = waitingPut();
        writing.close();
        assertEquals(PutOutcome.STORED, put.get());
        assertSecondStored();
    }

    @ParameterizedTest
    @EnumSource
    void shouldWaitInABatchToo(final Kind kind) throws Exception {
        open(kind, PUT_TIMEOUT_MS);
        StoreContract.put(store, FIRST, VALUE);
        final GdsLease lease = lease(FIRST);
        final FutureTask<List<BatchResult<PutOutcome>>> put = waiting(() -> store.putBatch(List.of(
            Store.Item.of(SECOND, MemorySegment.ofArray(VALUE)),
            Store.Item.of(ObjectKey.of("small"), MemorySegment.ofArray(new byte[1])))));
        assertTrue(store.exists(ObjectKey.of("small")), "one does not wait for the other");
        lease.close();
        assertEquals(List.of(PutOutcome.STORED, PutOutcome.STORED),
            put.get().stream().map(BatchResult::orThrow).toList());
        assertSecondStored();
    }

    /** Not only what is too large for memory: there may be none at all. */
    @Test
    void shouldWaitWhereNobodyLendsMemory() throws Exception {
        cluster = new Cluster(Cluster.settings(1, 0));
        store = cluster.join(config -> config.name("node").gds(GdsConfig.NONE.withRoom(directory.resolve("gds"),
            4 * UNIT).withTransport(GdsConfig.Mover.POSIX).withWatermarks(1, 0.5)).putTimeoutMs(PUT_TIMEOUT_MS));
        StoreContract.put(store, FIRST, VALUE);
        final GdsLease lease = lease(FIRST);
        final FutureTask<PutOutcome> put = waitingPut();
        lease.close();
        assertEquals(PutOutcome.STORED, put.get());
        assertSecondStored();
    }

    /** Nobody tells of the end of a lease: the put knows when it is. */
    @ParameterizedTest
    @EnumSource
    void shouldWaitForTheEndOfALease(final Kind kind) {
        open(kind, PUT_TIMEOUT_MS, Cluster.LEASE_MS);
        StoreContract.put(store, FIRST, VALUE);
        GdsStoreContract.assertValue(store, FIRST, VALUE, ReplicaType.GDS);
        assertEquals(PutOutcome.STORED, StoreContract.put(store, SECOND, VALUE));
        GdsStoreContract.assertValue(store, SECOND, VALUE, ReplicaType.GDS);
        assertFalse(store.exists(FIRST), "it made way");
    }

    @ParameterizedTest
    @EnumSource
    void shouldRefuseAtOnceWhenNoRoomCanComeFree(final Kind kind) {
        open(kind, PUT_TIMEOUT_MS);
        assertEquals(PutOutcome.STORED, store.put(FIRST, PutOptions.DEFAULT.withHardPin(true),
            MemorySegment.ofArray(VALUE)));
        assertEquals(PutOutcome.NO_SPACE, StoreContract.put(store, SECOND, VALUE));
        assertEquals(PutOutcome.NO_SPACE, store.putBatch(List.of(Store.Item.of(SECOND,
            MemorySegment.ofArray(VALUE)))).getFirst().orThrow());
        assertEquals(2, store.stats().gds().faults().noRoom());
        assertEquals(0, store.stats().putWaits());
    }

    @ParameterizedTest
    @EnumSource
    void shouldGiveUpAtItsDeadline(final Kind kind) {
        open(kind, 1);
        StoreContract.put(store, FIRST, VALUE);
        try (GdsLease lease = lease(FIRST)) {
            assertEquals(PutOutcome.NO_SPACE, StoreContract.put(store, SECOND, VALUE));
            assertFalse(lease.isStillValid(), "room was made, and could not be used");
        }
        assertEquals(1, store.stats().gds().faults().noRoom());
    }

    @ParameterizedTest
    @EnumSource
    void shouldEndWhenItsThreadIsInterrupted(final Kind kind) throws Exception {
        open(kind, PUT_TIMEOUT_MS);
        StoreContract.put(store, FIRST, VALUE);
        try (GdsLease lease = lease(FIRST)) {
            final FutureTask<Boolean> put = waiting(() -> {
                final StoreException e =
                    assertThrows(StoreException.class, () -> StoreContract.put(store, SECOND, VALUE));
                assertEquals(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, e.code());
                assertTrue(e.getMessage().contains("was interrupted"), e.getMessage());
                return Thread.currentThread().isInterrupted();
            });
            thread.interrupt();
            assertTrue(put.get(), "it stays interrupted");
            assertFalse(lease.isStillValid());
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldEndWhenTheStoreIsClosed(final Kind kind) throws Exception {
        open(kind, PUT_TIMEOUT_MS);
        StoreContract.put(store, FIRST, VALUE);
        try (GdsLease lease = lease(FIRST)) {
            final FutureTask<PutOutcome> put = waitingPut();
            store.close();
            final ExecutionException failed = assertThrows(ExecutionException.class, put::get);
            assertTrue(failed.getCause().getMessage().contains("the store is closed"), failed.getMessage());
            assertFalse(lease.isStillValid());
        }
    }
}
