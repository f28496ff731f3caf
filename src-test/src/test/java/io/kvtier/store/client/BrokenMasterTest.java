package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.client.transfer.RemoteSegments;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaStatus;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients of a master whose answers are well-formed and make no sense: they give no wrong bytes out, and they end. */
@ExtendWith(LeakCheck.class)
class BrokenMasterTest {
    private static final int UNIT = StoreContract.UNIT;
    private static final int VALUE_BYTES = 3 * UNIT;
    private static final byte[] VALUE = PatternBytes.of(1, VALUE_BYTES);

    @TempDir
    private Path directory;

    private final Cluster cluster = new Cluster(Cluster.settings(1, 0));
    private final List<ConnectedStore> clients = new ArrayList<>();
    private FaultyLink link;

    @AfterEach
    void close() {
        clients.forEach(ConnectedStore::close);
        cluster.close();
    }

    private ConnectedStore open(final UnaryOperator<ConnectConfig.Builder> settings, final FaultyLink.Fault fault) {
        final ConnectConfig config = settings.apply(cluster.config().shm(false)).build();
        link = new FaultyLink(config);
        if (fault != null) {
            link.fault(fault);
        }
        clients.add(ConnectedStore.open(config, StoreHooks.SYSTEM, link));
        return clients.getLast();
    }

    /** Answers of one type are changed. */
    private record Changed<T>(Class<T> type, UnaryOperator<T> change) implements FaultyLink.Fault {
        @Override
        public <R> R apply(final FaultyLink.Exchange<R> exchange) {
            return exchange.change(type, change);
        }
    }

    private static ReadReply with(final ReadReply reply, final List<Replica> replicas, final long leaseMs) {
        return new ReadReply(reply.version(), reply.size(), replicas, reply.held(), reply.checksummed(),
            reply.checksum(), leaseMs, reply.dataType());
    }

    /** The same replicas somewhere else in their segments. */
    private static ReadReply moved(final ReadReply reply, final long offset) {
        return with(reply, reply.replicas().stream().map(replica -> new Replica(replica.id(), replica.status(),
            new ReplicaDescriptor.Memory(((ReplicaDescriptor.Memory) replica.descriptor()).segment(), offset,
                reply.size()))).toList(), reply.leaseMs());
    }

    /** Behind the end of the segment; and so far that the end of the value is beyond all numbers. */
    @ParameterizedTest
    @ValueSource(longs = {(1 << 20) - UNIT, 1 << 20, Long.MAX_VALUE - VALUE_BYTES, Long.MAX_VALUE - UNIT,
        Long.MAX_VALUE})
    void shouldMissWhatIsSaidToLieOutsideItsSegment(final long offset) {
        final ConnectedStore lender = open(config -> config.memoryBytes(1 << 20), null);
        final FaultyLink lenders = link;
        StoreContract.put(lender, StoreContract.KEY, VALUE);
        final ConnectedStore reader = open(config -> config, null);
        for (final FaultyLink one : List.of(lenders, link)) {
            one.fault(new Changed<>(ReadReply.class, reply -> reply.found() ? moved(reply, offset) : reply));
        }
        for (final ConnectedStore store : List.of(lender, reader)) {
            final MemorySegment target = StoreContract.room(VALUE.length);
            assertEquals(GetOutcome.MISS, store.get(StoreContract.KEY, target));
        }
        lenders.fault(FaultyLink.Exchange::pass);
        assertArrayEquals(VALUE, lender.getBytes(StoreContract.KEY).orElseThrow());
    }

    /** What nobody reads any more goes from the disk, and its room is used again. */
    @Test
    void shouldLetGoOfAValueOnItsDiskThatIsSaidToHaveAnotherSize() {
        final ConnectedStore store = open(config -> config.memoryBytes(64 * UNIT).disk(directory, 4 << 20), null);
        StoreContract.put(store, StoreContract.KEY, VALUE);
        StoreContract.fillUntilOnDisk(store, StoreContract.KEY, 64 * UNIT);
        link.fault(new Changed<>(ReadReply.class, reply -> new ReadReply(reply.version(), reply.size() + 1,
            reply.replicas(), reply.held(), reply.checksummed(), reply.checksum(), reply.leaseMs(),
            reply.dataType())));
        assertEquals(GetOutcome.MISS, store.get(StoreContract.KEY, StoreContract.room(VALUE.length + 1)));
        link.fault(FaultyLink.Exchange::pass);
        assertFalse(store.exists(StoreContract.KEY));
        // The room of what was removed is free when others have been stored.
        final ObjectKey next = ObjectKey.of("next");
        StoreContract.put(store, next, VALUE);
        StoreContract.fillUntilOnDisk(store, next, 64 * UNIT);
        ConnectedStoreTest.await(() -> store.masterStats().offloadsPending() == 0);
        final long onDisk = store.find("", "").stream()
            .filter(one -> store.stat(one.key()).orElseThrow().tiers().contains(ReplicaType.LOCAL_DISK))
            .mapToLong(one -> (one.size() + UNIT - 1) / UNIT * UNIT).sum();
        assertEquals(onDisk, store.stats().disk().usedBytes());
    }

    /** Who waits for those inside before memory is taken back would wait for one that never leaves. */

    @Test
    void shouldEndAScanThatDoesNotMoveOn() {
        final ConnectedStore store = open(config -> config.memoryBytes(1 << 20), null);
        StoreContract.put(store, StoreContract.KEY, VALUE);
        link.fault(new Changed<>(ObjectCommand.FindReply.class,
            reply -> new ObjectCommand.FindReply(reply.found(), 5)));
        final StoreException find = assertThrows(StoreException.class, () -> store.find("", ""));
        assertEquals(ErrorCode.DESERIALIZE_FAIL, find.code());
        assertTrue(find.getMessage().contains("scan at 5") && find.getMessage().contains("go on at 5"),
            find.getMessage());

        link.fault(new Changed<>(ObjectCommand.RemoveMatchingReply.class,
            reply -> new ObjectCommand.RemoveMatchingReply(0, 0)));
        assertEquals(ErrorCode.DESERIALIZE_FAIL,
            assertThrows(StoreException.class, () -> store.removeMatching("", "", true)).code());
    }

    /** Another replica each time, and each out of reach when its lease is over. */
    @Test
    void shouldGiveAGetUpThatIsSentOnWithoutEnd() {
        final ConnectedStore store = open(config -> config.memoryBytes(1 << 20), null);
        StoreContract.put(store, StoreContract.KEY, VALUE);
        final AtomicLong ids = new AtomicLong();
        link.fault(new Changed<>(ReadReply.class, reply -> with(reply, List.of(new Replica(ids.incrementAndGet(),
            ReplicaStatus.COMPLETE, new ReplicaDescriptor.Memory(new SegmentAddress(UUID.randomUUID(), "",
                AccessToken.NONE), 0, reply.size()))), 0)));
        assertEquals(GetOutcome.MISS, store.get(StoreContract.KEY, StoreContract.room(VALUE.length)));
    }

    @Test
    void shouldGiveAValueUpThatHasAnotherSizeEachTime() {
        final ConnectedStore store = open(config -> config.memoryBytes(1 << 20), null);
        StoreContract.put(store, StoreContract.KEY, VALUE);
        final AtomicInteger asked = new AtomicInteger();
        link.fault(new Changed<>(ReadReply.class, reply -> new ReadReply(reply.version(),
            asked.incrementAndGet() % 2 == 0 ? reply.size() : 1, reply.replicas(), 0, false, 0, reply.leaseMs(),
            reply.dataType())));
        final StoreException e = assertThrows(StoreException.class, () -> store.getBytes(StoreContract.KEY));
        assertEquals(ErrorCode.BUFFER_OVERFLOW, e.code());
        assertTrue(e.getMessage().contains("another size 64 times"), e.getMessage());
    }

    /** Fewer answers than questions. */
    private static final class Short implements FaultyLink.Fault {
        private final Class<?> to;
        private final AtomicInteger cut = new AtomicInteger();

        Short(final Class<?> to) {
            this.to = to;
        }

        @Override
        @SuppressWarnings("unchecked") // Both commands are answered with a list.
        public <R> R apply(final FaultyLink.Exchange<R> exchange) {
            final R reply = exchange.pass();
            if (to.isInstance(exchange.command()) && !((List<?>) reply).isEmpty()) {
                cut.incrementAndGet();
                return (R) ((List<?>) reply).subList(1, ((List<?>) reply).size());
            }
            return reply;
        }
    }

    @Test
    void shouldNotTakeTheAnswerToOneValueForThatToAnother() {
        final ConnectedStore node = open(config -> config.memoryBytes(16 * UNIT).disk(directory, 4 << 20), null);
        StoreContract.put(node, StoreContract.KEY, VALUE);
        StoreContract.fillUntilOnDisk(node, StoreContract.KEY, 16 * UNIT);
        node.close();

        final Short adoption = new Short(DiskCommand.AdoptDisk.class);
        final StoreException e = assertThrows(StoreException.class,
            () -> open(config -> config.disk(directory, 4 << 20), adoption));
        assertEquals(ErrorCode.DESERIALIZE_FAIL, e.code());
        assertEquals(1, adoption.cut.get());
    }

    /** Like the one that there is no thread for a connection: once it is over, the segment can be opened. */
    @Test
    void shouldNotRememberAnErrorForEver() {
        final SegmentAddress address = new SegmentAddress(UUID.randomUUID(), "tcp://127.0.0.1:1/s", AccessToken.NONE);
        try (RemoteSegments segments = new RemoteSegments(any -> {
            throw new OutOfMemoryError("no thread can be made");
        })) {
            final RemoteSegments.Opened one = segments.enter(address);
            one.leave();
            assertEquals("no thread can be made", one.problem());
            segments.sweep();
        }
    }

    /** Whoever owns a disk names the memory that its values are in, and could name that of somebody else. */
    @Test
    void shouldKnowASegmentByAllOfItsAddress() {
        final List<SegmentAddress> opened = new ArrayList<>();
        try (RemoteSegments segments = new RemoteSegments(address -> {
            opened.add(address);
            throw new IllegalStateException("no segment of " + address.endpoint());
        })) {
            final UUID id = UUID.randomUUID();
            final SegmentAddress first = new SegmentAddress(id, "tcp://127.0.0.1:1/first", AccessToken.random());
            final SegmentAddress second = new SegmentAddress(id, "tcp://127.0.0.1:1/second", AccessToken.random());
            for (final SegmentAddress address : List.of(first, second)) {
                final RemoteSegments.Opened one = segments.enter(address);
                one.leave();
                assertEquals("no segment of " + address.endpoint(), one.problem());
            }
            assertEquals(List.of(first, second), opened);
        }
    }
}
