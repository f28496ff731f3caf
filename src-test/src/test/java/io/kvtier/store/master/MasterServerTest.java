package io.kvtier.store.master;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.Threads;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.Exists;
import io.kvtier.store.protocol.ObjectCommand.PutEnd;
import io.kvtier.store.protocol.ObjectCommand.PutRevoke;
import io.kvtier.store.protocol.ObjectCommand.PutStart;
import io.kvtier.store.protocol.ObjectCommand.ReadDone;
import io.kvtier.store.protocol.ObjectCommand.ReadStart;
import io.kvtier.store.protocol.ObjectCommand.Remove;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.PutStartReply.NoSpace;
import io.kvtier.store.protocol.PutStartReply.Started;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.Mount;
import io.kvtier.store.protocol.SegmentCommand.SegmentSpec;
import io.kvtier.store.protocol.TaskCommand.CreateTask;
import io.kvtier.store.protocol.TaskCommand.Kind;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.protocol.wire.RemoteMaster;
import io.kvtier.store.protocol.wire.WireCodec;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Uninterrupted;
import io.kvtier.transport.rpc.MessageWriter;
import io.kvtier.transport.rpc.RpcClient;
import io.kvtier.transport.rpc.RpcClientConfig;
import io.kvtier.transport.rpc.RpcException;
import io.kvtier.transport.rpc.RpcServerConfig;
import io.kvtier.transport.rpc.RpcStatus;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** A master behind real sockets. */
@ExtendWith(LeakCheck.class)
class MasterServerTest {
    private static final long LIMIT_MS = 60_000;
    private static final UUID CLIENT = new UUID(1, 2);
    private static final ObjectKey KEY = ObjectKey.of("k");
    private static final SegmentAddress ADDRESS =
        new SegmentAddress(new UUID(3, 4), "tcp://127.0.0.1:1/a", AccessToken.random());

    private final List<AutoCloseable> opened = new ArrayList<>();
    private MasterServer server;

    @AfterEach
    void close() throws Exception {
        for (final AutoCloseable each : opened.reversed()) {
            each.close();
        }
    }

    private <T extends AutoCloseable> T opened(final T what) {
        opened.add(what);
        return what;
    }

    /** With the real state and a segment of some bytes. */
    private RemoteMaster master(final long bytes) throws IOException {
        server = opened(MasterServer.start(RpcServerConfig.loopback(0), MasterSettings.embedded(1, 0.05, 0, 1000)));
        final RemoteMaster master = client();
        assertEquals(Ack.OK, master.apply(new Mount(CLIENT,
            new SegmentSpec("memory", Medium.MEMORY, bytes, 4096, ADDRESS, true))));
        return master;
    }

    private CountingState counting(final int places, final Conductor.Limits limits) throws IOException {
        final CountingState state = new CountingState(places);
        server = opened(MasterServer.start(RpcServerConfig.loopback(0),
            new Conductor(state.running(() -> System.nanoTime() / 1_000_000), limits)));
        return state;
    }

    private RpcClientConfig config() {
        return RpcClientConfig.of("127.0.0.1", server.address().getPort(), "test").withTimes(5000, 1, 10);
    }

    private RemoteMaster client() {
        return opened(new RemoteMaster(config(), LIMIT_MS));
    }

    private static PutStart put(final ObjectKey key, final long attempt, final long size) {
        return new PutStart(CLIENT, attempt, key, size, PutOptions.DEFAULT, false);
    }

    @Test
    void shouldPutAndReadAnObject() throws IOException {
        final RemoteMaster master = master(1 << 20);

        final Started started = assertInstanceOf(Started.class, master.apply(put(KEY, 1, 5000)));
        assertEquals(started, master.apply(put(KEY, 1, 5000)), "the same attempt once more");
        assertFalse(master.apply(new Exists(KEY)));
        assertEquals(Ack.OK, master.apply(new PutEnd(CLIENT, KEY, started.version(), Scope.ALL, true, -5)));
        final ReadReply read = master.apply(new ReadStart(KEY, false));

        assertEquals(5000, read.size());
        assertEquals(-5, read.checksum());
        final ReplicaDescriptor.Memory memory =
            assertInstanceOf(ReplicaDescriptor.Memory.class, read.replicas().getFirst().descriptor());
        assertEquals(ADDRESS, memory.segment());
        assertEquals(RemoveOutcome.REMOVED, master.apply(new Remove(KEY, true)).outcome());
        assertFalse(master.apply(new ReadStart(KEY, false)).found());
    }

    @Test
    void shouldNotLetAnotherProcessHoldAReplicaOrEndAHold() throws IOException {
        final RemoteMaster master = master(1 << 20);
        final Started started = assertInstanceOf(Started.class, master.apply(put(KEY, 1, 4096)));
        assertEquals(Ack.OK, master.apply(new PutEnd(CLIENT, KEY, started.version(), Scope.ALL, false, 0)));
        final ReadDone done = new ReadDone(KEY, started.replicas().getFirst().id());

        for (final Command<?> held : List.of(new ReadStart(KEY, true), done, new Batch<>(List.of(done)))) {
            assertEquals(ErrorCode.UNAVAILABLE_IN_CURRENT_MODE,
                assertThrows(StoreException.class, () -> master.apply(held)).code(), held.toString());
        }
        assertEquals(0, master.apply(new ReadStart(KEY, false)).held());
    }

    /** Its calls are answered by threads of others too, who must not wait for it. */
    @Test
    @Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void shouldAnswerOthersWhileAClientDoesNotReadAndThenEndIt() throws Exception {
        server = opened(MasterServer.start(RpcServerConfig.loopback(0).withStallTimeoutMs(1000),
            MasterSettings.embedded(1, 0.05, 0, 1000)));
        final RemoteMaster known = client();
        for (int i = 0; i < 200; i++) {
            known.apply(new Mount(CLIENT, new SegmentSpec("memory-" + i, Medium.MEMORY, 1 << 20, 4096,
                new SegmentAddress(new UUID(3, i), "tcp://127.0.0.1:1/a", AccessToken.random()), true)));
        }
        final byte[] segments = new MessageWriter().array(0).toBytes();
        try (Socket greedy = new Socket()) {
            greedy.setReceiveBufferSize(4096);
            greedy.connect(server.address());
            final OutputStream out = greedy.getOutputStream();
            out.write(frame(1, 0, 0, new MessageWriter().array(4).number(1).number(1).bytes(new byte[32]).text("greedy")
                .toBytes()));
            out.write(frame(3, 0, 0, new MessageWriter().array(1).bytes(new byte[0]).toBytes()));
            final CompletableFuture<Void> asking = Threads.start(() -> {
                try {
                    for (int id = 1;; id++) {
                        out.write(frame(16, 51, id, segments));
                    }
                } catch (final IOException e) {
                    // It has been ended.
                }
            });
            int answered = 0;
            while (!asking.isDone()) {
                assertEquals(200, known.apply(new SegmentCommand.Segments()).size());
                answered++;
            }
            assertTrue(answered > 0);
        }
        while (server.connections() > 1) {
            Thread.onSpinWait();
        }
        assertEquals(200, known.apply(new SegmentCommand.Segments()).size());
    }

    private static byte[] frame(final int type, final int code, final long id, final byte[] body) {
        return ByteBuffer.allocate(24 + body.length).putShort((short) 0x4b52).put((byte) 1).put((byte) type)
            .putInt(code).putLong(id).putInt(0).putInt(body.length).put(body).array();
    }

    @Test
    void shouldAnswerEachCommandOfABatchByItself() throws IOException {
        final RemoteMaster master = master(1 << 20);
        final List<PutStart> puts = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            puts.add(put(ObjectKey.of("k" + i % 50), i, i == 7 ? 1 << 21 : 4096));
        }
        final List<BatchResult<PutStartReply>> results = master.apply(new Batch<>(puts));

        for (int i = 0; i < 100; i++) {
            final Class<?> expected = i == 7 || i == 57 ? i == 7 ? PutStartReply.TooLarge.class : Started.class
                : i < 50 ? Started.class : PutStartReply.Taken.class;
            assertInstanceOf(expected, results.get(i).orThrow(), "put " + i);
        }
    }

    /** Each looks at all that there is, and thousands of them would be applied with nobody between. */
    @Test
    void shouldTakeNoBatchOfWhatTakesLongByItself() throws IOException {
        final RemoteMaster master = master(1 << 20);
        for (final Command<?> scan : List.of(new ObjectCommand.Find("", "", false, 0),
            new ObjectCommand.RemoveMatching("", "", false, 0), new ObjectCommand.ReplicaClear(CLIENT, List.of(), ""),
            new SegmentCommand.Segments(), new AdminCommand.Statistics())) {
            @SuppressWarnings("unchecked") // As a batch is read.
            final Batch<Object> batch = new Batch<>((List<Command<Object>>) (List<?>) List.of(scan, scan));
            assertEquals(ErrorCode.INVALID_PARAMS,
                assertThrows(StoreException.class, () -> master.apply(batch), scan.toString()).code());
            master.apply(scan);
        }
    }

    /** An object in many segments with long addresses, asked for thousands of times: a reply of 260 MiB. */
    @Test
    void shouldNotGatherAReplyThatNoClientTakes() throws IOException {
        final RemoteMaster master = master(1 << 20);
        for (int i = 0; i < 15; i++) {
            master.apply(new Mount(CLIENT, new SegmentSpec("memory-" + i, Medium.MEMORY, 1 << 20, 4096,
                new SegmentAddress(new UUID(5, i), "tcp://127.0.0.1:1/" + "a".repeat(4000), AccessToken.random()),
                true)));
        }
        final Started started = assertInstanceOf(Started.class, master.apply(new PutStart(CLIENT, 1, KEY, 4096,
            PutOptions.DEFAULT.withReplicas(16), false)));
        assertEquals(16, started.replicas().size());
        master.apply(new PutEnd(CLIENT, KEY, started.version(), Scope.ALL, false, 0));
        final Batch<ReadReply> batch =
            new Batch<>(Collections.nCopies(Batch.MAX_ITEMS, new ObjectCommand.Query(KEY)));
        final MessageWriter request = new MessageWriter();
        new WireCodec().writeRequest(batch, 0, request);
        final RpcClientConfig patient = config();
        final RpcClient client = opened(new RpcClient(new RpcClientConfig(patient.host(), patient.port(), "large", null,
            null, 5000, 1, 1, 1 << 30)));

        final RpcException e = assertThrows(RpcException.class,
            () -> client.call(WireCodec.method(batch), request, LIMIT_MS));
        assertEquals(RpcStatus.INTERNAL, e.status(), "what was asked for may have been done");
        assertTrue(e.getMessage().contains("more than " + (64 << 20) + " bytes"), e.getMessage());
        assertEquals(16, master.apply(new ObjectCommand.Query(KEY)).replicas().size());
    }

    @Test
    void shouldLetAPutWaitForRoom() throws IOException {
        final RemoteMaster master = master(8192);
        final Started first = assertInstanceOf(Started.class, master.apply(put(KEY, 1, 8192)));
        final ObjectKey other = ObjectKey.of("other");
        assertEquals(new NoSpace(true), master.apply(put(other, 2, 8192)));
        final CompletableFuture<PutStartReply> waiting =
            Threads.start(() -> master.putStart(put(other, 3, 8192), LIMIT_MS));

        master.apply(new PutRevoke(CLIENT, KEY, first.version(), Scope.ALL));

        assertInstanceOf(Started.class, waiting.join());
        assertInstanceOf(NoSpace.class, master.putStart(put(KEY, 4, 8192), 30), "nobody frees room this time");
    }

    @Test
    void shouldTellAClientOfItsWork() throws IOException {
        counting(0, Conductor.Limits.DEFAULT);
        final RemoteMaster master = client();
        assertEquals(0, master.awaitWork(CLIENT, 0));
        final CompletableFuture<Integer> waiting = Threads.start(() -> master.awaitWork(CLIENT, LIMIT_MS));
        master.apply(new CreateTask(Kind.COPY, ObjectKey.of(CLIENT.toString()), "a", List.of("b")));

        assertEquals(WorkKind.TASKS.bit(), waiting.join());
        assertEquals(0, master.awaitWork(CLIENT, 20));
    }

    @Test
    void shouldNotCarryOutWhatItsCallerHasGivenUp() throws IOException {
        final CountingState state = counting(0, Conductor.Limits.DEFAULT);
        final CountDownLatch inside = new CountDownLatch(1);
        final CountDownLatch goOn = new CountDownLatch(1);
        state.onApply(() -> {
            inside.countDown();
            Uninterrupted.await(goOn::await);
        });
        final CompletableFuture<Boolean> holder = Threads.start(() -> server.master().apply(new Exists(KEY)));
        Uninterrupted.await(inside::await);
        final RemoteMaster hasty = opened(new RemoteMaster(config(), 50));
        final StoreException e = assertThrows(StoreException.class, () -> hasty.apply(new Remove(KEY, true)));
        assertEquals(ErrorCode.RPC_TIMEOUT, e.code());
        goOn.countDown();
        holder.join();

        assertTrue(client().apply(new Exists(KEY)));
        assertTrue(state.applied().stream().noneMatch(Remove.class::isInstance), state.applied().toString());
    }

    @Test
    void shouldSayThatItIsBusyWhenTheQueueIsFull() throws IOException {
        final CountingState state = counting(0, new Conductor.Limits(2, 100, 10));
        final CountDownLatch inside = new CountDownLatch(1);
        final CountDownLatch goOn = new CountDownLatch(1);
        state.onApply(() -> {
            inside.countDown();
            Uninterrupted.await(goOn::await);
        });
        final CompletableFuture<Boolean> holder = Threads.start(() -> server.master().apply(new Exists(KEY)));
        Uninterrupted.await(inside::await);
        final RpcClient client = opened(new RpcClient(config()));
        final MessageWriter request = new MessageWriter();
        new WireCodec().writeRequest(new Exists(KEY), 0, request);
        final List<CompletableFuture<RpcStatus>> calls = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            calls.add(Threads.start(() -> {
                try {
                    client.call(21, request, LIMIT_MS);
                    return null;
                } catch (final RpcException e) {
                    return e.status();
                }
            }));
        }
        final Object first = CompletableFuture.anyOf(calls.toArray(CompletableFuture[]::new)).join();
        assertEquals(RpcStatus.BUSY, first, "one too many; the others wait");
        final CompletableFuture<Boolean> patient = Threads.start(() -> client().apply(new Exists(KEY)));
        goOn.countDown();

        assertTrue(holder.join());
        assertTrue(patient.join(), "a client tries again by itself");
        assertEquals(2, calls.stream().filter(call -> call.join() == null).count());
    }

    @Test
    void shouldServeOnWhateverItIsSent() throws IOException {
        final RemoteMaster master = master(1 << 20);
        final RpcClient client = opened(new RpcClient(config()));
        final SplittableRandom random = new SplittableRandom(5);
        for (int method = 0; method < 110; method++) {
            for (int i = 0; i < 5; i++) {
                final byte[] body = new byte[1 + random.nextInt(30)];
                random.nextBytes(body);
                body[0] = (byte) (0xc1 + i);
                final int number = method;
                final RpcException e = assertThrows(RpcException.class, () -> client.call(number, body, LIMIT_MS));
                assertTrue(e.status() == RpcStatus.MALFORMED || e.status() == RpcStatus.UNKNOWN_METHOD, e.getMessage());
            }
        }
        final byte[] emptyKey = new MessageWriter().array(2).text("").text("").toBytes();
        final RpcException refused = assertThrows(RpcException.class, () -> client.call(21, emptyKey, LIMIT_MS));
        assertEquals(-ErrorCode.INVALID_KEY.number(), refused.applicationCode());

        assertFalse(master.apply(new Exists(KEY)));
    }

    /** Every command that was applied has been answered: nothing is between when it closes. */
    @Test
    void shouldAnswerWhatItHasAppliedWhenItClosesUnderFire() throws Exception {
        for (int round = 0; round < 10; round++) {
            final CountingState state = counting(0, Conductor.Limits.DEFAULT);
            final AtomicInteger answered = new AtomicInteger();
            final List<CompletableFuture<Void>> callers = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                final RpcClient client = opened(new RpcClient(config()));
                callers.add(Threads.start(() -> callUntilItEnds(client, answered)));
            }
            final RemoteMaster waits = client();
            final CompletableFuture<Integer> work = Threads.start(() -> waits.awaitWork(CLIENT, LIMIT_MS));
            while (answered.get() < 200) {
                Thread.onSpinWait();
            }
            server.close();
            callers.forEach(CompletableFuture::join);
            // It may not have got as far as the server, and would try again for as long as it may.
            waits.close();
            work.handle((kinds, error) -> null).join();

            assertEquals(state.applied().size(), answered.get());
            assertTrue(state.isClosed());
        }
    }

    private static void callUntilItEnds(final RpcClient client, final AtomicInteger answered) {
        final MessageWriter request = new MessageWriter();
        new WireCodec().writeRequest(new Exists(KEY), 0, request);
        while (true) {
            try {
                client.call(21, request, LIMIT_MS);
                answered.incrementAndGet();
            } catch (final RpcException e) {
                return;
            }
        }
    }

    @Test
    void shouldEndWhatADeadConnectionWaitsFor() throws Exception {
        final CountingState state = counting(0, Conductor.Limits.DEFAULT);
        final RpcClient gone = new RpcClient(config());
        final MessageWriter request = new MessageWriter();
        new WireCodec().writeRequest(put(KEY, 1, 1), LIMIT_MS, request);
        final CompletableFuture<Object> waiting = Threads.start(() -> assertThrows(RpcException.class,
            () -> gone.call(16, request, LIMIT_MS)));
        final RemoteMaster master = client();
        while (applied(state) == 0) {
            Thread.onSpinWait();
        }
        gone.close();
        waiting.join();
        // The place that comes free stays free: the put that waited for it has ended with its connection.
        PutStartReply reply = new NoSpace(true);
        while (!(reply instanceof Started)) {
            server.master().apply(new Remove(KEY, true));
            reply = master.apply(put(KEY, 2, 1));
        }
    }

    /** How many puts were applied, read inside the state. */
    private int applied(final CountingState state) {
        final int[] count = new int[1];
        state.onApply(() -> count[0] = (int) state.applied().stream().filter(PutStart.class::isInstance).count());
        server.master().apply(new Exists(KEY));
        state.onApply(() -> { });
        return count[0];
    }
}
