package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.protocol.DiskCommand.PromotionEnd;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.replica.SegmentAddress;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Values that are copied from a disk up into memory that another process lends, as if they were put there. */
@ExtendWith(LeakCheck.class)
class PromotionElsewhereTest {
    private static final int UNIT = 4096;
    private static final long LIMIT_MS = 200;
    private static final ObjectKey KEY = ObjectKey.of("key");
    private static final byte[] VALUE = PatternBytes.of(1, 3 * UNIT + 5);

    @TempDir
    private Path directory;
    private final Cluster cluster = new Cluster(Cluster.settings(1, 0));
    private final List<PromotionEnd> ends = new CopyOnWriteArrayList<>();
    private FaultyLink link;
    private ConnectedStore node;

    @AfterEach
    void close() {
        node.close();
        cluster.close();
    }

    /** A node on whose disk alone the value is. */
    private void open() {
        final ConnectConfig config = cluster.config().name("node").memoryBytes(64 * UNIT).disk(directory, 4 << 20)
            .shm(false).timeouts(20_000, LIMIT_MS).build();
        link = new FaultyLink(config);
        node = ConnectedStore.open(config, StoreHooks.SYSTEM, link);
        final ConnectedStore client = cluster.join(any -> any);
        StoreContract.put(client, KEY, VALUE);
        StoreContract.fillUntilOnDisk(client, KEY, 64 * UNIT);
        ConnectedStoreTest.await(() -> client.masterStats().offloadsPending() == 0);
    }

    /** The node is given another place than the master has said. */
    private void promoteTo(final UnaryOperator<ReplicaDescriptor.Memory> place) {
        link.fault(new FaultyLink.Fault() {
            @Override
            public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                if (exchange.command() instanceof PromotionEnd end) {
                    ends.add(end);
                }
                return exchange.change(PromotionReply.class, reply -> reply.accepted()
                    ? new PromotionReply(reply.replicaId(), place.apply(reply.memory())) : reply);
            }
        });
    }

    /** The same memory as that of another process. */
    private static ReplicaDescriptor.Memory asOthers(final ReplicaDescriptor.Memory place) {
        final SegmentAddress address = place.segment();
        return new ReplicaDescriptor.Memory(new SegmentAddress(UUID.randomUUID(), address.endpoint(),
            address.accessToken()), place.offset(), place.size());
    }

    private void assertReadFromDisk() {
        final MemorySegment target = StoreContract.room(VALUE.length);
        assertEquals(new GetOutcome(true, VALUE.length, ReplicaType.LOCAL_DISK), node.get(KEY, target));
        assertArrayEquals(VALUE, PatternBytes.copyOf(target));
        assertEquals(1, ends.size());
    }

    @Test
    void shouldPromoteIntoMemoryOfAnotherProcess() {
        open();
        promoteTo(PromotionElsewhereTest::asOthers);
        assertReadFromDisk();
        assertTrue(ends.getFirst().success());
        assertEquals(1, node.masterStats().promotions());
        assertArrayEquals(VALUE, node.getBytes(KEY).orElseThrow());
    }

    /** Long after its time the master may have given the room to somebody else. */
    @Test
    void shouldWriteNothingWhenItsTimeIsOver() {
        open();
        promoteTo(place -> {
            final long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LIMIT_MS + 1);
            while (System.nanoTime() - until < 0) {
                Thread.onSpinWait();
            }
            return asOthers(place);
        });
        assertReadFromDisk();
        assertFalse(ends.getFirst().success());
        assertTrue(ends.getFirst().settled(), "nothing was sent");
        assertEquals(0, node.masterStats().promotions());
    }

    /** Who lends the memory may only have stood still, and may yet write what it was sent. */
    @Test
    void shouldSayThatMoreMayBeWrittenWhenNobodySaysHowItEnded() {
        open();
        final ConnectedStore lender = cluster.join(config -> config.name("lender").memoryBytes(1 << 20).shm(false));
        final ObjectKey other = ObjectKey.of("other");
        assertEquals(PutOutcome.STORED, node.put(other, PutOptions.DEFAULT.withPreferredSegments("lender"),
            MemorySegment.ofArray(VALUE)));
        assertTrue(node.get(other, StoreContract.room(VALUE.length)).hit(), "there is a connection");
        final ReplicaDescriptor.Memory lent = (ReplicaDescriptor.Memory) node.parts().master()
            .apply(new ObjectCommand.Query(other)).replicas().getFirst().descriptor();
        promoteTo(place -> {
            lender.close();
            return new ReplicaDescriptor.Memory(lent.segment(), lent.offset(), place.size());
        });
        assertReadFromDisk();
        assertFalse(ends.getFirst().success());
        assertFalse(ends.getFirst().settled());
    }
}
