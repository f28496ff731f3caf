package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.client.lending.ConnectedMemory;
import io.kvtier.store.client.lending.LentMemory;
import io.kvtier.store.client.transfer.RemoteSegments;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.TaskCommand;
import io.kvtier.store.protocol.TaskCommand.Kind;
import io.kvtier.store.protocol.TaskCommand.ReplicationReply;
import io.kvtier.store.protocol.TaskCommand.TaskInfo;
import io.kvtier.store.protocol.TaskCommand.TaskStatus;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.tcp.TcpConfig;
import io.kvtier.transport.tcp.TcpTransport;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Copies and moves that the master asks a client for, and what becomes of those that go wrong on their way. */
@ExtendWith(LeakCheck.class)
class ReplicationsTest {
    private static final ObjectKey KEY = ObjectKey.of("key");
    private static final byte[] VALUE = PatternBytes.of(1, 300_000);
    /** Nobody listens there. */
    private static final String NOWHERE = "tcp://127.0.0.1:1/nothing";

    private final Cluster cluster = new Cluster(Cluster.settings(1, 0));
    private final List<ConnectedStore> carriers = new ArrayList<>();
    private FaultyLink link;
    private ConnectedStore client;

    @AfterEach
    void close() {
        carriers.forEach(ConnectedStore::close);
        cluster.close();
    }

    /** A client whose segment is {@code a}, which carries out what begins there, and others. */
    private void open(final boolean shm, final String... others) {
        open(cluster.config().build(), shm, others);
    }

    private void open(final ConnectConfig base, final boolean shm, final String... others) {
        final ConnectConfig config = cluster.config().name("a").memoryBytes(4 << 20).shm(shm)
            .timeouts(base.timeouts().rpcMs(), base.timeouts().transferMs()).build();
        link = new FaultyLink(config);
        carriers.add(ConnectedStore.open(config, StoreHooks.SYSTEM, link));
        for (final String name : others) {
            cluster.join(any -> any.name(name).memoryBytes(4 << 20).shm(shm));
        }
        client = cluster.join(any -> any.name("client").shm(shm));
    }

    private Master master() {
        return client.parts().master();
    }

    private void put(final ObjectKey key, final byte[] value) {
        assertEquals(PutOutcome.STORED, client.put(key, PutOptions.DEFAULT.withPreferredSegments("a"),
            MemorySegment.ofArray(value)));
    }

    private long create(final Kind kind, final ObjectKey key, final String... targets) {
        return master().apply(new TaskCommand.CreateTask(kind, key, "a", List.of(targets)));
    }

    private TaskInfo query(final long task) {
        return master().apply(new TaskCommand.QueryTask(task));
    }

    /** How a task ended. */
    private TaskInfo ended(final long task) {
        ConnectedStoreTest.await(() -> query(task).status() == TaskStatus.SUCCESS
            || query(task).status() == TaskStatus.FAILED);
        return query(task);
    }

    private void assertDone(final long task) {
        final TaskInfo info = ended(task);
        assertEquals(TaskStatus.SUCCESS, info.status(), info.message());
    }

    /** It has failed, the value is where it was and as it was, and no trace is left. */
    private String failed(final long task) {
        final TaskInfo info = ended(task);
        assertEquals(TaskStatus.FAILED, info.status());
        assertEquals(Set.of("a"), places(KEY));
        assertArrayEquals(VALUE, client.getBytes(KEY).orElseThrow());
        assertEquals(0, client.masterStats().heldReplicas());
        assertEquals(RemoveOutcome.REMOVED, client.remove(KEY, true), "nothing is at it any more");
        return info.message();
    }

    /** The segments that a value lies in. */
    private Set<String> places(final ObjectKey key) {
        final Map<UUID, String> names = new HashMap<>();
        master().apply(new SegmentCommand.Segments()).forEach(info -> names.put(info.segmentId(), info.name()));
        final Set<String> places = new TreeSet<>();
        for (final Replica replica : master().apply(new ObjectCommand.Query(key)).replicas()) {
            places.add(names.get(((ReplicaDescriptor.Memory) replica.descriptor()).segment().segmentId()));
        }
        return places;
    }

    private interface Hook {
        void before(Command<?> command);
    }

    /** Something happens before a command of the carrier. */
    private void before(final Hook hook) {
        link.fault(new FaultyLink.Fault() {
            @Override
            public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                hook.before(exchange.command());
                return exchange.pass();
            }
        });
    }

    /** The carrier hears something else than what the master has said. */
    private void change(final UnaryOperator<ReplicationReply> change) {
        link.fault(new FaultyLink.Fault() {
            @Override
            public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                return exchange.change(ReplicationReply.class, change);
            }
        });
    }

    private static Replica at(final Replica replica, final UnaryOperator<SegmentAddress> change) {
        final ReplicaDescriptor.Memory memory = (ReplicaDescriptor.Memory) replica.descriptor();
        return new Replica(replica.id(), replica.status(), new ReplicaDescriptor.Memory(
            change.apply(memory.segment()), memory.offset(), memory.size()));
    }

    private static SegmentAddress nowhere(final SegmentAddress address) {
        return new SegmentAddress(UUID.randomUUID(), NOWHERE, address.accessToken());
    }

    @ParameterizedTest
    @CsvSource({"true,300000", "false,300000", "false,1", "false,0"})
    void shouldCopyToAllTargets(final boolean shm, final int size) {
        open(shm, "b", "c");
        final byte[] value = PatternBytes.of(size, size);
        put(KEY, value);
        assertDone(create(Kind.COPY, KEY, "b", "c"));
        assertEquals(Set.of("a", "b", "c"), places(KEY));
        carriers.getFirst().close();
        assertEquals(Set.of("b", "c"), places(KEY));
        assertArrayEquals(value, client.getBytes(KEY).orElseThrow());
    }

    @ParameterizedTest
    @CsvSource({"true", "false"})
    void shouldMove(final boolean shm) {
        open(shm, "b");
        put(KEY, VALUE);
        assertDone(create(Kind.MOVE, KEY, "b"));
        assertEquals(Set.of("b"), places(KEY));
        assertArrayEquals(VALUE, client.getBytes(KEY).orElseThrow());
        assertEquals(0, client.masterStats().heldReplicas());
    }

    /** As when the memory was lent anew between: what it was is read like anybody else's. */
    @Test
    void shouldCopyWhatDoesNotLieInItsOwnMemory() {
        open(false, "b");
        put(KEY, VALUE);
        change(reply -> new ReplicationReply(reply.size(), at(reply.source(), address -> new SegmentAddress(
            UUID.randomUUID(), address.endpoint(), address.accessToken())), reply.targets()));
        assertDone(create(Kind.COPY, KEY, "b"));
        carriers.getFirst().close();
        assertArrayEquals(VALUE, client.getBytes(KEY).orElseThrow());
    }

    @Test
    void shouldFailWhenTheSourceCannotBeRead() {
        open(false, "b");
        put(KEY, VALUE);
        change(reply -> new ReplicationReply(reply.size(), at(reply.source(), ReplicationsTest::nowhere),
            reply.targets()));
        final String message = failed(create(Kind.COPY, KEY, "b"));
        assertTrue(message.contains(NOWHERE), message);
        ConnectedStoreTest.await(() -> client.masterStats().memoryUsed() == 0);
    }

    @Test
    void shouldFailWhenATargetCannotBeWritten() {
        open(false, "b", "c");
        put(KEY, VALUE);
        change(reply -> new ReplicationReply(reply.size(), reply.source(), List.of(reply.targets().getFirst(),
            at(reply.targets().getLast(), ReplicationsTest::nowhere))));
        final String message = failed(create(Kind.COPY, KEY, "b", "c"));
        assertTrue(message.contains(NOWHERE), message);
        ConnectedStoreTest.await(() -> client.masterStats().memoryUsed() == 0);
    }

    @Test
    void shouldFailWhenATargetIsTakenBackBeforeItIsWritten() {
        open(false, "b");
        put(KEY, VALUE);
        final ConnectedStore target = cluster.join(config -> config.name("c").memoryBytes(4 << 20).shm(false));
        change(reply -> {
            target.close();
            return reply;
        });
        failed(create(Kind.MOVE, KEY, "c"));
    }

    @Test
    void shouldFailWhenATargetIsTakenBackBeforeTheMasterIsTold() {
        open(false, "b");
        put(KEY, VALUE);
        final ConnectedStore target = cluster.join(config -> config.name("c").memoryBytes(4 << 20).shm(false));
        before(command -> {
            if (command instanceof TaskCommand.ReplicationEnd) {
                target.close();
            }
        });
        final String message = failed(create(Kind.MOVE, KEY, "c"));
        assertTrue(message.contains(ErrorCode.REPLICA_IS_GONE.name()), message);
    }

    @Test
    void shouldFailWhenItsSourceIsGoneBeforeItBegins() {
        open(false, "b");
        put(KEY, VALUE);
        put(ObjectKey.of("other"), VALUE);
        final CountDownLatch removed = new CountDownLatch(1);
        before(command -> {
            if (command instanceof TaskCommand.ReplicationStart) {
                join(removed);
            }
        });
        final long task = create(Kind.MOVE, KEY, "b");
        client.remove(KEY, true);
        removed.countDown();
        final TaskInfo info = ended(task);
        assertEquals(TaskStatus.FAILED, info.status());
        assertTrue(info.message().contains(ErrorCode.OBJECT_NOT_FOUND.name()), info.message());
        assertDone(create(Kind.MOVE, ObjectKey.of("other"), "b"));
    }

    /** Long after its time the master may have given the room to somebody else. */
    @Test
    void shouldWriteNothingWhenItsTimeIsOver() {
        open(ConnectConfig.builder("h", 1).timeouts(20_000, 200).build(), false, "b");
        put(KEY, VALUE);
        final List<ReplicaDescriptor.Memory> targets = new ArrayList<>();
        change(reply -> {
            final long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(201);
            while (System.nanoTime() - until < 0) {
                Thread.onSpinWait();
            }
            reply.targets().forEach(target -> targets.add((ReplicaDescriptor.Memory) target.descriptor()));
            return reply;
        });
        final String message = failed(create(Kind.COPY, KEY, "b"));
        assertTrue(message.contains("transferTimeoutMs"), message);
        assertFalse(Arrays.equals(VALUE, read(targets.getFirst())), "its target is untouched");
    }

    /** What lies somewhere, whatever the master says. */
    private static byte[] read(final ReplicaDescriptor.Memory place) {
        final MemorySegment found = StoreContract.room(VALUE.length);
        try (TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT,
            List.of(new TcpTransport(TcpConfig.DEFAULT))); Staging staging = new Staging();
             RemoteSegments segments = new RemoteSegments(engine)) {
            assertNull(new ConnectedMemory(new LentMemory(null, "none", 0, null), segments, engine, staging)
                .startRead(place, 0, VALUE.length, List.of(found), 20_000, true).finish());
        }
        return PatternBytes.copyOf(found);
    }

    @Test
    void shouldCarryOutTheOthersWhenTheMasterIsNotReachedForOne() {
        open(false, "b");
        final int count = 5;
        for (int i = 0; i < count; i++) {
            put(StoreContract.key(i), PatternBytes.of(i, 1000));
        }
        final CountDownLatch all = new CountDownLatch(1);
        final AtomicInteger starts = new AtomicInteger();
        final AtomicInteger marks = new AtomicInteger();
        before(command -> {
            if (command instanceof TaskCommand.FetchTasks) {
                // All at once.
                join(all);
            }
            if (command instanceof TaskCommand.ReplicationStart && starts.getAndIncrement() == 1
                || command instanceof TaskCommand.MarkTask && marks.getAndIncrement() == 0) {
                throw new StoreException(ErrorCode.RPC_FAIL, "lost");
            }
        });
        final List<Long> tasks = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            tasks.add(create(Kind.MOVE, StoreContract.key(i), "b"));
        }
        all.countDown();
        final TaskInfo second = ended(tasks.get(1));
        assertEquals(TaskStatus.FAILED, second.status());
        assertTrue(second.message().contains("lost"), second.message());
        tasks.subList(2, count).forEach(this::assertDone);
        assertEquals(TaskStatus.PROCESSING, query(tasks.getFirst()).status(), "the master waits to hear of it");
        assertEquals(Set.of("b"), places(StoreContract.key(0)), "but it is done");
        assertEquals(Set.of("a"), places(StoreContract.key(1)));
    }

    /** Closing does not wait until a long queue has been worked off. */
    @Test
    void shouldStopBetweenTwoCopiesWhenClosed() {
        open(false, "b");
        final int count = 40;
        final List<Long> tasks = new ArrayList<>();
        final CountDownLatch begun = new CountDownLatch(1);
        final CountDownLatch closing = new CountDownLatch(1);
        before(command -> {
            if (command instanceof TaskCommand.ReplicationStart) {
                begun.countDown();
                join(closing);
            }
        });
        for (int i = 0; i < count; i++) {
            put(StoreContract.key(i), PatternBytes.of(i, 1000));
            tasks.add(create(Kind.COPY, StoreContract.key(i), "b"));
        }
        join(begun);
        final Thread closer = Thread.ofPlatform().start(carriers.getFirst()::close);
        assertTrue(Threads.awaitWaiting(closer));
        closing.countDown();
        ConnectedStoreTest.await(() -> !closer.isAlive());
        final List<TaskStatus> how = tasks.stream().map(task -> query(task).status()).toList();
        assertEquals(1, how.stream().filter(TaskStatus.SUCCESS::equals).count(), how.toString());
        assertTrue(how.contains(TaskStatus.PENDING), how.toString());
        assertEquals(0, how.stream().filter(TaskStatus.PROCESSING::equals).count(), how.toString());
    }

    private static void join(final CountDownLatch latch) {
        try {
            latch.await();
        } catch (final InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
