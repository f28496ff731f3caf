package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.ObjectCommand.AddGdsReplicaStart;
import io.kvtier.store.protocol.ObjectCommand.CreateGdsOnlyObject;
import io.kvtier.store.protocol.ObjectCommand.PutEnd;
import io.kvtier.store.replica.ReplicaType;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A file for GDS replicas among several clients, masters that are started anew, and answers that are lost. */
@ExtendWith(LeakCheck.class)
class GdsClusterTest {
    private static final int UNIT = StoreContract.UNIT;
    private static final ObjectKey KEY = StoreContract.KEY;
    private static final byte[] VALUE = PatternBytes.of(1, 2 * UNIT + 9);

    @TempDir
    private Path directory;

    private final Cluster cluster = new Cluster(Cluster.settings(1, 0));
    private ConnectedStore faulty;
    private FaultyLink link;

    @AfterEach
    void close() {
        try {
            if (faulty != null) {
                faulty.close();
            }
        } finally {
            cluster.close();
        }
    }

    private GdsConfig gds() {
        return GdsConfig.NONE.withRoom(directory.resolve("gds"), 64 * UNIT).withTransport(GdsConfig.Mover.POSIX)
            .withWatermarks(1, 0.5);
    }

    private ConnectedStore node(final UnaryOperator<GdsConfig> change) {
        return cluster.join(config -> config.name("node").memoryBytes(UNIT).shm(false).gds(change.apply(gds())));
    }

    /** What the master does is not always heard. */
    private ConnectedStore faultyNode(final long memoryBytes) {
        final ConnectConfig config = cluster.config().name("node").memoryBytes(memoryBytes).shm(false).gds(gds())
            .build();
        link = new FaultyLink(config);
        faulty = ConnectedStore.open(config, StoreHooks.SYSTEM, link);
        return faulty;
    }

    /** Commands of a type fail as if the master had not answered. */
    private static final class Lost implements FaultyLink.Fault {
        private final Class<?> type;
        private final boolean carriedOut;
        private final AtomicInteger left;

        Lost(final Class<?> type, final boolean carriedOut, final int times) {
            this.type = type;
            this.carriedOut = carriedOut;
            this.left = new AtomicInteger(times);
        }

        @Override
        public <R> R apply(final FaultyLink.Exchange<R> exchange) {
            if (!isOne(exchange.command()) || left.getAndDecrement() <= 0) {
                return exchange.pass();
            }
            if (carriedOut) {
                exchange.pass();
            }
            throw new StoreException(ErrorCode.RPC_FAIL, "the answer is lost");
        }

        private boolean isOne(final Command<?> command) {
            return type.isInstance(command)
                || command instanceof Batch<?> batch && type.isInstance(batch.items().getFirst());
        }
    }

    private static void awaitSettled(final Store store, final long units) {
        Threads.awaitUntil(() -> store.stats().gds().unsettled() == 0
            && store.stats().gds().tier().usedBytes() == units * UNIT,
            () -> units + " units are not all that is in use: " + store.stats().gds());
    }

    private static PutOutcome put(final Store store, final boolean batch) {
        return batch ? store.putBatch(List.of(Store.Item.of(KEY, MemorySegment.ofArray(VALUE)))).getFirst().orThrow()
            : StoreContract.put(store, KEY, VALUE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"carried out", "lost", "carried out, batch", "lost, batch"})
    void shouldStoreInMemoryAloneWhenItIsNotHeardWhetherTheFileWasTaken(final String how) {
        final ConnectedStore store = faultyNode(64 * UNIT);
        link.fault(new Lost(AddGdsReplicaStart.class, how.startsWith("carried"), 1));
        assertEquals(PutOutcome.STORED, put(store, how.endsWith("batch")));
        awaitSettled(store, 0);
        assertEquals(List.of(ReplicaType.MEMORY), GdsStoreContract.tiers(store, KEY));
        assertArrayEquals(VALUE, store.getBytes(KEY).orElseThrow());
        assertEquals(0, store.masterStats().gds().replicas());
        assertEquals(1, store.stats().gds().faults().refused());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldKeepAValueWhosePutEndedThoughThatWasNotHeard(final boolean batch) {
        final ConnectedStore store = faultyNode(64 * UNIT);
        link.fault(new Lost(PutEnd.class, true, 1));
        assertEquals(ErrorCode.RPC_FAIL, assertThrows(StoreException.class, () -> put(store, batch)).code());
        awaitSettled(store, 3);
        assertEquals(List.of(ReplicaType.MEMORY, ReplicaType.GDS), GdsStoreContract.tiers(store, KEY));
        GdsStoreContract.evict(store);
        assertEquals(ReplicaType.GDS, store.get(KEY, StoreContract.room(VALUE.length)).tier());
        assertArrayEquals(VALUE, store.getBytes(KEY).orElseThrow());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldGiveUpAPutWhoseEndDidNotArrive(final boolean batch) {
        final ConnectedStore store = faultyNode(64 * UNIT);
        link.fault(new Lost(PutEnd.class, false, 1));
        assertEquals(ErrorCode.RPC_FAIL, assertThrows(StoreException.class, () -> put(store, batch)).code());
        awaitSettled(store, 0);
        assertFalse(store.exists(KEY));
        assertEquals(PutOutcome.STORED, put(store, batch));
        assertEquals(List.of(ReplicaType.MEMORY, ReplicaType.GDS), GdsStoreContract.tiers(store, KEY));
        assertEquals(0, store.masterStats().pendingWrites());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldFreeTheRoomOfAnObjectThatWasNotHeardToBegin(final boolean carriedOut) {
        final ConnectedStore store = faultyNode(UNIT);
        link.fault(new Lost(CreateGdsOnlyObject.class, carriedOut, 1));
        assertEquals(PutOutcome.NO_SPACE, put(store, false), "it fits nowhere else");
        awaitSettled(store, 0);
        assertEquals(PutOutcome.STORED, put(store, false));
        assertEquals(ReplicaType.GDS, store.get(KEY, StoreContract.room(VALUE.length)).tier());
    }

    @Test
    void shouldReadThroughTheOwnerWhatIsInItsFileAlone() {
        final ConnectedStore owner = node(gds -> gds);
        StoreContract.put(owner, KEY, VALUE);
        final ConnectedStore reader = cluster.join(config -> config.name("reader").shm(false));
        final MemorySegment target = StoreContract.room(VALUE.length);
        assertEquals(new GetOutcome(true, VALUE.length, ReplicaType.GDS), reader.get(KEY, target));
        assertArrayEquals(VALUE, PatternBytes.copyOf(target));
        StoreContract.assertPart(reader, VALUE, UNIT - 1, UNIT + 5);
        final List<BatchResult<GetOutcome>> batch = reader.getBatch(List.of(Store.Item.of(KEY, target),
            Store.Item.of(ObjectKey.of("none"), target)));
        assertEquals(List.of(true, false), batch.stream().map(one -> one.orThrow().hit()).toList());
        assertTrue(owner.stats().gds().tier().hits() >= 3);
    }

    @Test
    void shouldNotReadOthersFilesWhereThatIsOff() {
        final ConnectedStore owner = node(gds -> gds);
        StoreContract.put(owner, KEY, VALUE);
        final ConnectedStore reader = cluster.join(config -> config.name("reader")
            .gds(GdsConfig.NONE.withRemoteReads(false)));
        assertEquals(GetOutcome.MISS, reader.get(KEY, StoreContract.room(VALUE.length)));
        assertTrue(owner.get(KEY, StoreContract.room(VALUE.length)).hit());
    }

    @Test
    void shouldMissWhatIsInAFileWhoseOwnerDoesNotAnswerReads() {
        StoreContract.put(node(gds -> gds.withRemoteReads(false)), KEY, VALUE);
        final ConnectedStore reader = cluster.join(config -> config.name("reader"));
        assertEquals(GetOutcome.MISS, reader.get(KEY, StoreContract.room(VALUE.length)));
        assertTrue(reader.exists(KEY), "the owner can still read it");
    }

    @Test
    void shouldForgetWhatIsInTheFileOfAClientThatLeaves() {
        final ConnectedStore reader = cluster.join(config -> config.name("reader"));
        final ConnectedStore owner = node(gds -> gds);
        StoreContract.put(owner, KEY, VALUE);
        owner.close();
        assertFalse(reader.exists(KEY));
        assertEquals(0, reader.masterStats().gds().storages());
        final ConnectedStore again = node(gds -> gds);
        assertEquals(new GetOutcome(true, VALUE.length, ReplicaType.GDS),
            again.get(KEY, StoreContract.room(VALUE.length)));
        assertEquals(new GetOutcome(true, VALUE.length, ReplicaType.GDS),
            reader.get(KEY, StoreContract.room(VALUE.length)));
    }

    @Test
    void shouldOfferItsFileToAMasterThatWasStartedAnew() {
        final ConnectedStore owner = node(gds -> gds);
        StoreContract.put(owner, KEY, VALUE);
        cluster.restartMaster(Cluster.settings(1, 0));
        Threads.awaitUntil(() -> owner.masterStats().gds().replicas() > 0, owner::masterStats);
        assertEquals(new GetOutcome(true, VALUE.length, ReplicaType.GDS),
            owner.get(KEY, StoreContract.room(VALUE.length)));
        assertEquals(3 * UNIT, owner.stats().gds().tier().usedBytes());
    }
}
