package io.kvtier.store.client.owner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.HeldTransport;
import io.kvtier.kit.LeakCheck;
import io.kvtier.store.DataType;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.client.call.Counters;
import io.kvtier.store.client.request.ObjectRead;
import io.kvtier.store.client.request.ReadRequest;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.RemoteSegments;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaStatus;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.HostPort;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Slice;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.rpc.MessageWriter;
import io.kvtier.transport.rpc.RpcCall;
import io.kvtier.transport.rpc.RpcClientConfig;
import io.kvtier.transport.rpc.RpcServer;
import io.kvtier.transport.rpc.RpcServerConfig;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What a reader takes of owners of disks: memory of theirs until it has read, connections while it reads. */
@ExtendWith(LeakCheck.class)
class OwnerReadsTest {
    private static final int SIZE = 100;
    private static final long LIMIT_MS = 600_000;
    private static final long BATCH = 4711;

    private final HeldTransport transport = new HeldTransport(TransportKind.TCP, Segment.Kind.REMOTE);
    private final TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT, List.of(transport));
    private final RemoteSegments segments = new RemoteSegments(engine);
    private final Staging staging = new Staging();
    private final Counters counters = new Counters();
    private final OwnerReads reads = new OwnerReads(owner -> RpcClientConfig.of(owner.host(), owner.port(), "test"),
        new OwnerReads.Reach(engine, segments, staging, counters, new GdsOwners(null), LIMIT_MS, LIMIT_MS));
    private final SegmentAddress memory =
        new SegmentAddress(UUID.randomUUID(), "tcp://127.0.0.1:1/s", AccessToken.NONE);
    private final LinkedBlockingQueue<Long> released = new LinkedBlockingQueue<>();
    private final List<RpcServer> owners = new ArrayList<>();
    /** For which an owner keeps what it was asked for. */
    private volatile long leaseMs = LIMIT_MS;
    private volatile int mostAnswers = OwnerProtocol.MAX_ITEMS;

    @AfterEach
    void close() {
        reads.close();
        owners.forEach(RpcServer::close);
        segments.close();
        engine.close();
        staging.close();
    }

    /** An owner that has whatever it is asked for. */
    private String owner() throws IOException {
        final RpcServer server = RpcServer.start(RpcServerConfig.loopback(0), this::answer);
        owners.add(server);
        return HostPort.of(null, server.address()).toString();
    }

    private void answer(final RpcCall call) {
        if (call.method() == OwnerProtocol.RELEASE) {
            released.add(OwnerProtocol.readRelease(call.body()));
            call.reply(new MessageWriter().array(0).toBytes());
            return;
        }
        final List<OwnerProtocol.Placed> placed = OwnerProtocol.readRequest(call.body()).stream()
            .limit(mostAnswers).map(one -> new OwnerProtocol.Placed(OwnerProtocol.OK, 0)).toList();
        call.reply(OwnerProtocol.reply(new OwnerProtocol.Reply(BATCH, leaseMs, memory, placed)));
    }

    private static OwnerReads.Wanted wanted(final MemorySegment target) {
        final ObjectRead read = new ObjectRead(ReadRequest.whole(ObjectKey.of("key"), List.of(target)), 0);
        read.answered(System.nanoTime(),
            new ReadReply(1, SIZE, List.of(), 0, false, 0, LIMIT_MS, DataType.UNKNOWN));
        return new OwnerReads.Wanted(read, new Replica(1, ReplicaStatus.COMPLETE,
            new ReplicaDescriptor.LocalDisk(UUID.randomUUID(), SIZE, "")), SIZE);
    }

    private List<Move> read(final String owner, final MemorySegment... targets) {
        return reads.read(owner, List.of(targets).stream().map(OwnerReadsTest::wanted).toList());
    }

    @Test
    void shouldReleaseTheMemoryOfAnOwnerThoughTheCallersCannotBeFilled() throws Exception {
        final List<Move> moves;
        try (Arena arena = Arena.ofConfined()) {
            moves = read(owner(), arena.allocate(SIZE), MemorySegment.ofArray(new byte[SIZE]));
        }
        transport.slices().forEach(Slice::completed);

        assertThrows(IllegalStateException.class, () -> moves.get(0).finish());
        assertEquals(null, moves.get(1).finish());

        assertEquals(BATCH, released.take());
    }

    /** Which of the values is meant by an answer is not sure then. */
    @Test
    void shouldTakeNothingFromAnOwnerThatAnswersForFewerValuesThanItWasAskedFor() throws Exception {
        mostAnswers = 1;
        try {
            for (final Move move : read(owner(), MemorySegment.ofArray(new byte[SIZE]),
                MemorySegment.ofArray(new byte[SIZE]))) {
                final String problem = move.finish();
                assertTrue(problem.contains("1 values; asked was for 2"), problem);
            }
            assertEquals(List.of(), transport.slices());
        } finally {
            transport.slices().forEach(Slice::completed);
        }
    }

    /** The place may be another value's by then. */
    @Test
    void shouldNotTakeBytesForAValueThatItsOwnerKeptNoLonger() throws Exception {
        leaseMs = 0;
        final List<Move> moves = read(owner(), MemorySegment.ofArray(new byte[SIZE]));
        transport.slices().forEach(Slice::completed);

        assertNotNull(moves.getFirst().finish());

        assertEquals(0, counters.diskHits().sum(), "what came too late is no hit");
        assertEquals(BATCH, released.take());
    }

    /** Owners come and go, each at an address of its own. */
    @Test
    void shouldLetGoOfOwnersThatItReadsFromNoMore() throws Exception {
        final List<Move> done = read(owner(), MemorySegment.ofArray(new byte[SIZE]));
        final List<Move> underWay = read(owner(), MemorySegment.ofArray(new byte[SIZE]));
        transport.slices().getFirst().completed();
        assertEquals(null, done.getFirst().finish());
        assertEquals(BATCH, released.take());
        assertTrue(owners.stream().allMatch(server -> server.connections() == 1));

        sweepUntilOwnersAre(1);

        while (owners.getFirst().connections() > 0) {
            Thread.onSpinWait();
        }
        assertEquals(1, owners.get(1).connections(), "it is still read from");
        transport.slices().get(1).completed();
        assertEquals(null, underWay.getFirst().finish());
        assertEquals(BATCH, released.take());
        sweepUntilOwnersAre(0);
    }

    /** The last word to an owner is said by another thread. */
    private void sweepUntilOwnersAre(final int count) {
        while (reads.size() > count) {
            reads.sweep(System.nanoTime() + TimeUnit.MINUTES.toNanos(2));
        }
        assertEquals(count, reads.size());
    }
}
