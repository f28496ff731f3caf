package io.kvtier.store.protocol.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Threads;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.ObjectCommand.Exists;
import io.kvtier.store.protocol.ObjectCommand.ReadStart;
import io.kvtier.store.protocol.ObjectCommand.Remove;
import io.kvtier.store.protocol.ObjectCommand.RemoveReply;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.Mount;
import io.kvtier.store.protocol.SegmentCommand.SegmentSpec;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.SharedSecret;
import io.kvtier.transport.rpc.MessageWriter;
import io.kvtier.transport.rpc.RpcCall;
import io.kvtier.transport.rpc.RpcClientConfig;
import io.kvtier.transport.rpc.RpcException;
import io.kvtier.transport.rpc.RpcHandler;
import io.kvtier.transport.rpc.RpcServer;
import io.kvtier.transport.rpc.RpcServerConfig;
import io.kvtier.transport.rpc.RpcStatus;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The client's end against a server that fails as it is told, over a line that can be cut. */
class RemoteMasterTest {
    private static final long LIMIT_MS = 30_000;
    private static final ObjectKey KEY = ObjectKey.of("k");
    private static final Mount MOUNT = new Mount(new UUID(1, 2), new SegmentSpec("s", Medium.MEMORY, 4096, 4096,
        SegmentAddress.local(new UUID(3, 4)), true));

    private final WireCodec codec = new WireCodec();
    private final List<Command<?>> handled = new CopyOnWriteArrayList<>();
    /** What happens to calls that come, one after the other; then they are answered. */
    private final Queue<Consumer<RpcCall>> script = new ConcurrentLinkedQueue<>();
    private final List<AutoCloseable> opened = new ArrayList<>();
    private Line line;

    /** A line between a client and a server, which can be cut. */
    private static final class Line implements AutoCloseable {
        private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        private final List<Socket> sockets = new CopyOnWriteArrayList<>();
        private final int target;

        Line(final int target) throws IOException {
            this.target = target;
            Thread.ofPlatform().daemon().start(() -> {
                while (!listener.isClosed()) {
                    try {
                        join(listener.accept());
                    } catch (final IOException e) {
                        continue;
                    }
                }
            });
        }

        private void join(final Socket client) throws IOException {
            final Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
            sockets.addAll(List.of(client, server));
            pump(client, server);
            pump(server, client);
        }

        private void pump(final Socket from, final Socket to) {
            Thread.ofPlatform().daemon().start(() -> {
                try (InputStream in = from.getInputStream(); OutputStream out = to.getOutputStream()) {
                    in.transferTo(out);
                } catch (final IOException e) {
                    cut();
                }
            });
        }

        void cut() {
            sockets.forEach(socket -> {
                try {
                    socket.close();
                } catch (final IOException e) {
                    throw new IllegalStateException(e);
                }
            });
        }

        @Override
        public void close() throws IOException {
            listener.close();
            cut();
        }
    }

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

    private RemoteMaster master(final long timeoutMs) throws IOException {
        final RpcHandler handler = this::handle;
        final RpcServer server = opened(RpcServer.start(RpcServerConfig.loopback(0).withLimits(10, 16 << 20, 5000, 100),
            handler));
        line = opened(new Line(server.address().getPort()));
        return opened(new RemoteMaster(RpcClientConfig.of("127.0.0.1", line.listener.getLocalPort(), "test")
            .withTimes(5000, 1, 10), timeoutMs));
    }

    private void handle(final RpcCall call) {
        final Command<?> command = codec.readRequest(call.method(), call.body()).command();
        handled.add(command);
        final Consumer<RpcCall> step = script.poll();
        if (step != null) {
            step.accept(call);
        } else {
            answer(call, command);
        }
    }

    private <R> void answer(final RpcCall call, final Command<R> command) {
        final MessageWriter out = new MessageWriter();
        codec.writeReply(command, reply(command), out);
        call.reply(out);
    }

    @SuppressWarnings("unchecked") // As each case answers what its command is answered with.
    private static <R> R reply(final Command<R> command) {
        return (R) switch (command) {
            case Exists exists -> exists.key().key().endsWith("7");
            case Remove ignored -> new RemoveReply(RemoveOutcome.REMOVED, 3);
            case Mount ignored -> Ack.OK;
            case Batch<?> batch -> batch.items().stream().map(item -> new BatchResult<>(reply(item), null)).toList();
            default -> throw new IllegalArgumentException("no " + command);
        };
    }

    /** The command is carried out, and its answer lost. */
    private void cutBeforeTheAnswer(final RpcCall call) {
        line.cut();
        call.reply(new byte[0]);
    }

    private static void refuse(final RpcCall call, final RpcStatus status) {
        call.fail(new RpcException(status, "told to", null));
    }

    @Test
    void shouldRepeatWhatIsAsGoodTwiceWhenTheAnswerIsLost() throws IOException {
        final RemoteMaster master = master(LIMIT_MS);
        script.add(this::cutBeforeTheAnswer);
        script.add(this::cutBeforeTheAnswer);

        assertEquals(false, master.apply(new Exists(KEY)));
        assertEquals(List.of(new Exists(KEY), new Exists(KEY), new Exists(KEY)), handled);
    }

    @Test
    void shouldNotRepeatWhatIsNotAndSayThatNobodyKnows() throws IOException {
        final RemoteMaster master = master(LIMIT_MS);
        for (final Command<?> once : List.of(new Remove(KEY, true), new ReadStart(KEY, true),
            new Batch<>(List.of(new Remove(KEY, false))))) {
            handled.clear();
            script.add(this::cutBeforeTheAnswer);
            final StoreException e = assertThrows(StoreException.class, () -> master.apply(once));

            assertEquals(ErrorCode.RPC_FAIL, e.code());
            assertTrue(e.getMessage().contains("it may have been carried out"), e.getMessage());
            assertTrue(e.getMessage().contains(WireCodec.name(once) + " at 127.0.0.1:"), e.getMessage());
            assertEquals(List.of(once), handled);
        }
        assertEquals(RemoveOutcome.REMOVED, master.apply(new Remove(KEY, true)).outcome());
    }

    @Test
    void shouldTakeTheRefusalOfARepeatedMountForTheSuccessOfTheFirst() throws IOException {
        final RemoteMaster master = master(LIMIT_MS);
        final Consumer<RpcCall> exists = call ->
            call.fail(Failures.sent(new StoreException(ErrorCode.SEGMENT_ALREADY_EXISTS, "mounted already")));
        script.add(this::cutBeforeTheAnswer);
        script.add(exists);
        assertEquals(Ack.OK, master.apply(MOUNT));

        script.add(exists);
        final StoreException e = assertThrows(StoreException.class, () -> master.apply(MOUNT));
        assertEquals(ErrorCode.SEGMENT_ALREADY_EXISTS, e.code(), "this one was not repeated");
        assertEquals("SEGMENT_ALREADY_EXISTS: mounted already", e.getMessage());
    }

    @Test
    void shouldRepeatAnythingThatWasCertainlyNotCarriedOut() throws IOException {
        final RemoteMaster master = master(LIMIT_MS);
        script.add(call -> refuse(call, RpcStatus.BUSY));
        script.add(call -> refuse(call, RpcStatus.SHUTTING_DOWN));

        assertEquals(3, master.apply(new Remove(KEY, true)).version());
        assertEquals(3, handled.size());
    }

    @Test
    void shouldSayWhatWasNotAnsweredWhereAndForHowLong() throws IOException {
        final RemoteMaster master = master(80);
        final List<RpcCall> kept = new CopyOnWriteArrayList<>();
        script.add(kept::add);

        final StoreException e = assertThrows(StoreException.class, () -> master.apply(new Exists(KEY)));

        assertEquals(ErrorCode.RPC_TIMEOUT, e.code());
        assertTrue(e.getMessage().contains("Exists at 127.0.0.1:" + line.listener.getLocalPort()
            + " was not answered within 80 ms"), e.getMessage());
        kept.forEach(call -> call.reply(new byte[0]));
        assertEquals(1, handled.size());
    }

    @Test
    void shouldTellWhatIsTheServersFault() throws IOException {
        final RemoteMaster master = master(LIMIT_MS);
        script.add(call -> call.fail(new IllegalStateException("broken")));
        assertEquals(ErrorCode.INTERNAL_ERROR,
            assertThrows(StoreException.class, () -> master.apply(new Exists(KEY))).code());
        script.add(call -> refuse(call, RpcStatus.UNKNOWN_METHOD));
        assertEquals(ErrorCode.UNAVAILABLE_IN_CURRENT_MODE,
            assertThrows(StoreException.class, () -> master.apply(new Exists(KEY))).code());
        script.add(call -> call.reply(new byte[] {5}));
        final StoreException garbled = assertThrows(StoreException.class, () -> master.apply(new Exists(KEY)));
        assertEquals(ErrorCode.DESERIALIZE_FAIL, garbled.code());
        script.add(call -> call.fail(RpcException.application(123_456, "of a later version")));
        assertEquals(ErrorCode.INTERNAL_ERROR,
            assertThrows(StoreException.class, () -> master.apply(new Exists(KEY))).code());
    }

    @Test
    void shouldWaitForAServerThatIsNotThereYet() throws Exception {
        final int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        final RpcClientConfig config = RpcClientConfig.of("127.0.0.1", port, "test").withTimes(1000, 1, 10);
        final RemoteMaster early = opened(new RemoteMaster(config, 60));
        final StoreException e = assertThrows(StoreException.class, () -> early.apply(new Remove(KEY, true)));
        assertEquals(ErrorCode.RPC_FAIL, e.code());
        assertTrue(e.getMessage().contains("it was not carried out"), e.getMessage());

        final RemoteMaster patient = opened(new RemoteMaster(config, LIMIT_MS));
        final CompletableFuture<RemoveReply> call = Threads.start(() -> patient.apply(new Remove(KEY, true)));
        opened(RpcServer.start(RpcServerConfig.loopback(port), this::handle));

        assertEquals(3, call.join().version());
    }

    @Test
    void shouldBeRefusedByAServerWithAnotherSecretAndNotTryAgain() throws IOException {
        final RpcServer server = opened(RpcServer.start(RpcServerConfig.loopback(0)
            .withSecret(SharedSecret.of("0123456789abcdef")), this::handle));
        final RpcClientConfig config = RpcClientConfig.of("127.0.0.1", server.address().getPort(), "test");

        for (final RpcClientConfig wrong : List.of(config, config.withSecret(SharedSecret.of("fedcba9876543210")))) {
            final RemoteMaster master = opened(new RemoteMaster(wrong, LIMIT_MS));
            final StoreException e = assertThrows(StoreException.class, () -> master.apply(new Exists(KEY)));
            assertEquals(ErrorCode.RPC_FAIL, e.code());
            assertTrue(e.getMessage().contains("UNAUTHENTICATED"), e.getMessage());
        }
        assertEquals(List.of(), handled);
    }

    @Test
    void shouldCutLongBatchesAndKeepTheirOrder() throws IOException {
        final RemoteMaster master = master(LIMIT_MS);
        final List<Exists> many = new ArrayList<>();
        for (int i = 0; i < 2 * Batch.MAX_ITEMS + 5; i++) {
            many.add(new Exists(ObjectKey.of("k" + i)));
        }
        final List<BatchResult<Boolean>> results = master.apply(new Batch<>(many));

        assertEquals(List.of(Batch.MAX_ITEMS, Batch.MAX_ITEMS, 5),
            handled.stream().map(batch -> ((Batch<?>) batch).items().size()).toList());
        for (int i = 0; i < many.size(); i++) {
            assertEquals(i % 10 == 7, results.get(i).orThrow());
        }
        assertEquals(List.of(), master.apply(new Batch<>(List.of())));
    }

    @Test
    void shouldCutBatchesThatAreLargeInBytes() throws IOException {
        final RemoteMaster master = master(LIMIT_MS);
        final List<Exists> many = new ArrayList<>();
        for (int i = 0; i < Batch.MAX_ITEMS; i++) {
            many.add(new Exists(ObjectKey.of("k".repeat(4000) + i)));
        }

        assertEquals(Batch.MAX_ITEMS, master.apply(new Batch<>(many)).size());
        assertEquals(many, handled.stream().flatMap(batch -> ((Batch<?>) batch).items().stream()).toList());
        assertTrue(handled.size() > 1);
    }

    @Test
    void shouldFailWhenClosed() throws IOException {
        final RemoteMaster master = master(LIMIT_MS);
        master.close();
        master.close();

        assertEquals(ErrorCode.RPC_FAIL,
            assertThrows(StoreException.class, () -> master.apply(new Exists(KEY))).code());
    }
}
