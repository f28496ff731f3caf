package io.kvtier.transport.rpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Threads;
import io.kvtier.transport.Uninterrupted;
import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A client and a server over a real socket. */
class RpcTest {
    private static final long LIMIT_MS = 30_000;
    private static final int ECHO = 1;
    private static final int LATER = 2;
    private static final int NEVER = 3;
    private static final int THROW = 4;
    private static final int REFUSE = 5;
    private static final int READ = 6;
    /** What a caller hears of a server that has gone: it still had a connection, or could not make one. */
    private static final Set<RpcStatus> GONE = Set.of(RpcStatus.DISCONNECTED, RpcStatus.UNREACHABLE);

    private final ConcurrentLinkedQueue<RpcCall> held = new ConcurrentLinkedQueue<>();
    private final AtomicInteger handled = new AtomicInteger();
    private final AtomicInteger gone = new AtomicInteger();
    private RpcServer server;
    private RpcClient client;

    private final RpcHandler handler = new RpcHandler() {
        @Override
        public void handle(final RpcCall call) {
            handled.incrementAndGet();
            switch (call.method()) {
                case ECHO -> call.reply(call.body());
                case LATER -> Thread.ofVirtual().start(() -> call.reply(call.body()));
                case NEVER -> held.add(call);
                case THROW -> throw new IllegalStateException("the handler is broken");
                case REFUSE -> throw RpcException.application(704, "no such object");
                case READ -> call.reply(new MessageWriter().number(new MessageReader(call.body()).begin()).toBytes());
                default -> throw new RpcException(RpcStatus.UNKNOWN_METHOD, "method " + call.method(), null);
            }
        }

        @Override
        public void disconnected(final long connection) {
            gone.incrementAndGet();
        }
    };

    @AfterEach
    void close() {
        held.forEach(call -> call.reply(new byte[0]));
        if (client != null) {
            client.close();
        }
        if (server != null) {
            server.close();
        }
    }

    private void start(final RpcServerConfig config) throws IOException {
        server = RpcServer.start(config, handler);
        client = new RpcClient(config());
    }

    private void start() throws IOException {
        start(RpcServerConfig.loopback(0));
    }

    private RpcClientConfig config() {
        return RpcClientConfig.of("127.0.0.1", server.address().getPort(), "test");
    }

    private RpcException failure(final int method, final byte[] body) {
        return assertThrows(RpcException.class, () -> client.call(method, body, LIMIT_MS));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 100, 16_000, 16_384, 100_000, 10_000_000})
    void shouldAnswerWithTheReply(final int length) throws IOException {
        start();
        final byte[] body = new byte[length];
        new SplittableRandom(length).nextBytes(body);

        assertArrayEquals(body, client.call(ECHO, body, LIMIT_MS));
        assertArrayEquals(body, client.call(LATER, body, LIMIT_MS));
    }

    /** The JDK closes a socket in which a virtual thread is interrupted; this one is everybody's. */
    @Test
    void shouldGoOnForAllWhenAVirtualCallerIsInterrupted() throws IOException {
        start();
        final byte[] body = {1, 2, 3};
        final CompletableFuture<byte[]> first = new CompletableFuture<>();
        final Thread reader = Thread.ofVirtual().start(() -> first.completeAsync(
            () -> client.call(NEVER, body, LIMIT_MS), Runnable::run));
        awaitHandled(1);
        assertTrue(Threads.awaitWaiting(reader));
        final CompletableFuture<byte[]> second = Threads.start(() -> client.call(NEVER, body, LIMIT_MS));
        awaitHandled(2);

        reader.interrupt();

        assertArrayEquals(body, client.call(ECHO, body, LIMIT_MS));
        held.forEach(call -> call.reply(body));
        assertArrayEquals(body, first.join());
        assertArrayEquals(body, second.join());
    }

    private void awaitHandled(final int calls) {
        while (handled.get() < calls) {
            Thread.onSpinWait();
        }
    }

    @Test
    void shouldTellTheCallerWhyACallFailedAndServeTheNextOne() throws IOException {
        start();

        final RpcException refused = failure(REFUSE, new byte[0]);
        assertEquals(RpcStatus.APPLICATION, refused.status());
        assertEquals(704, refused.applicationCode());
        assertEquals("no such object", refused.getMessage());
        final RpcException broken = failure(THROW, new byte[0]);
        assertEquals(RpcStatus.INTERNAL, broken.status());
        assertTrue(broken.getMessage().contains("the handler is broken"), broken.getMessage());
        assertTrue(broken.status().isUncertain());
        assertEquals(RpcStatus.UNKNOWN_METHOD, failure(99, new byte[0]).status());
        assertEquals(RpcStatus.MALFORMED, failure(READ, new byte[] {5}).status());
        assertFalse(RpcStatus.MALFORMED.isUncertain());
        assertArrayEquals(new byte[] {1}, client.call(ECHO, new byte[] {1}, LIMIT_MS));
        assertEquals(1, server.connections());
    }

    @Test
    void shouldGiveEveryCallerItsOwnReplyWhenManyCallAtOnce() throws IOException {
        start();
        final List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int thread = 0; thread < 40; thread++) {
            final SplittableRandom random = new SplittableRandom(thread);
            final Runnable calls = () -> {
                for (int i = 0; i < 200; i++) {
                    final byte[] body = new byte[random.nextInt(200)];
                    random.nextBytes(body);
                    assertArrayEquals(body, client.call(random.nextBoolean() ? ECHO : LATER, body, LIMIT_MS));
                }
            };
            all.add(thread % 2 == 0 ? Threads.start(calls)
                : CompletableFuture.runAsync(calls, command -> Thread.ofVirtual().start(command)));
        }
        all.forEach(CompletableFuture::join);

        assertEquals(8000, handled.get());
        assertEquals(1, server.connections());
    }

    @Test
    void shouldGiveUpOneCallAndKeepTheConnectionWhenItsTimeIsOver() throws IOException {
        start();
        client.call(ECHO, new byte[0], LIMIT_MS);

        final RpcException late =
            assertThrows(RpcException.class, () -> client.call(NEVER, new byte[0], 20));
        assertEquals(RpcStatus.TIMEOUT, late.status());
        while (held.isEmpty()) {
            Thread.onSpinWait();
        }
        assertTrue(late.getMessage().contains("method 3 within 20 ms"), late.getMessage());
        // The late answer comes before the next one and must not be taken for it.
        held.poll().reply(new byte[] {9});
        assertArrayEquals(new byte[] {1}, client.call(ECHO, new byte[] {1}, LIMIT_MS));
        assertEquals(1, server.connections());
    }

    @Test
    void shouldLetAnotherCallerReadOnWhenTheOneThatReadsGivesUp() throws IOException {
        start();
        final CompletableFuture<RpcException> impatient = Threads.start(() ->
            assertThrows(RpcException.class, () -> client.call(NEVER, new byte[0], 200)));
        while (held.isEmpty()) {
            Thread.onSpinWait();
        }
        final CompletableFuture<byte[]> patient = Threads.start(() -> client.call(NEVER, new byte[] {2}, LIMIT_MS));
        while (held.size() < 2) {
            Thread.onSpinWait();
        }
        assertEquals(RpcStatus.TIMEOUT, impatient.join().status());
        held.forEach(call -> call.reply(call.body()));

        assertArrayEquals(new byte[] {2}, patient.join());
    }

    /** Whoever reads may give up at any moment, and so may whoever was to read next. */
    @Test
    void shouldAnswerThePatientHoweverManyOthersGiveUpAroundThem() throws IOException {
        server = RpcServer.start(RpcServerConfig.loopback(0), call -> {
            if (call.method() == NEVER) {
                held.add(call);
            } else {
                // Later than the impatient wait, so that the reader changes meanwhile.
                Thread.ofVirtual().start(() -> {
                    LockSupport.parkNanos(3_000_000);
                    call.reply(call.body());
                });
            }
        });
        client = new RpcClient(config());
        client.call(ECHO, new byte[0], LIMIT_MS);
        final List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int thread = 0; thread < 12; thread++) {
            final boolean patient = thread % 3 == 0;
            all.add(Threads.start(() -> {
                for (int i = 0; i < 60; i++) {
                    if (patient) {
                        assertArrayEquals(new byte[] {5}, client.call(ECHO, new byte[] {5}, LIMIT_MS));
                    } else {
                        final int limitMs = 1 + i % 4;
                        assertEquals(RpcStatus.TIMEOUT, assertThrows(RpcException.class,
                            () -> client.call(NEVER, new byte[0], limitMs)).status());
                    }
                }
            }));
        }
        all.forEach(CompletableFuture::join);
    }

    /** Who reads must not leave that to a caller whose request the server does not take before answers are read. */
    @Test
    void shouldNotLeaveReadingToACallerThatIsStillSending() throws Exception {
        final CountDownLatch stands = new CountDownLatch(1);
        server = RpcServer.start(RpcServerConfig.loopback(0), call -> {
            if (call.method() == ECHO) {
                call.reply(call.body());
            } else {
                held.add(call);
                if (call.body().length == 2) {
                    Uninterrupted.await(stands::await);
                }
            }
        });
        client = new RpcClient(config());
        // The reader looks for its successor by the low bits of the calls' numbers: the 16th is the first it sees.
        for (int i = 0; i < 13; i++) {
            client.call(ECHO, new byte[0], LIMIT_MS);
        }
        final Caller reader = caller(new byte[1]);
        Threads.awaitInside(reader.thread, FrameInput.class, "next");
        final Caller next = caller(new byte[2]);
        final Caller sending = new Caller(ECHO, new byte[16 << 20]);
        Threads.awaitInside(sending.thread, FrameOutput.class, "flush");
        try {
            final RpcCall first = held.poll();
            final RpcCall second = held.poll();
            first.reply(first.body());
            assertEquals(1, reader.reply.get().length);
            second.reply(second.body());
            assertEquals(2, next.reply.get().length);
        } finally {
            stands.countDown();
        }
        assertEquals(16 << 20, sending.reply.get().length);
    }

    /** A thread that calls. */
    private final class Caller {
        private final CompletableFuture<byte[]> reply = new CompletableFuture<>();
        private final Thread thread;

        Caller(final int method, final byte[] body) {
            thread = Thread.ofPlatform().daemon().start(() -> {
                try {
                    reply.complete(client.call(method, body, LIMIT_MS));
                } catch (final RpcException e) {
                    reply.completeExceptionally(e);
                }
            });
        }
    }

    /** One whose call the server has. */
    private Caller caller(final byte[] body) {
        final int before = held.size();
        final Caller caller = new Caller(NEVER, body);
        while (held.size() == before) {
            Thread.onSpinWait();
        }
        return caller;
    }

    @Test
    void shouldTryToConnectAgainWhateverTheFirstAttemptEndedWith() throws Exception {
        start();
        client = new RpcClient(config().withTls(SSLContext.getInstance("TLS")).withTimes(5000, 1, 1));

        for (int attempt = 0; attempt < 3; attempt++) {
            assertThrows(IllegalStateException.class, () -> client.call(ECHO, new byte[0], LIMIT_MS),
                "this context is not initialized");
        }
    }

    @Test
    void shouldTakeAConnectionThatComesAtItsVeryEndWithoutAnError() throws IOException {
        start();
        server.close();
        try (Socket socket = new Socket()) {
            final ServerConnection late = new ServerConnection(server, socket, 1);

            assertFalse(server.closeAfterHandshakeTime(late).isDone(), "nobody watches its time any more");
        }
    }

    @Test
    void shouldRefuseWhileItClosesAndBeReachedAgainWhenItComesBack() throws Exception {
        start();
        final int port = server.address().getPort();
        client.close();
        client = new RpcClient(config().withTimes(1000, 1, 5));
        final CompletableFuture<byte[]> underWay =
            Threads.start(() -> client.call(NEVER, new byte[] {8}, LIMIT_MS));
        while (held.isEmpty()) {
            Thread.onSpinWait();
        }
        final Thread closer = Thread.ofPlatform().start(server::close);
        assertTrue(Threads.awaitWaiting(closer));
        assertEquals(RpcStatus.SHUTTING_DOWN, failure(ECHO, new byte[0]).status());
        held.poll().reply(new byte[] {8});
        closer.join();
        assertArrayEquals(new byte[] {8}, underWay.join());
        assertTrue(GONE.contains(failure(ECHO, new byte[0]).status()));

        server = restarted(port);
        byte[] reply = null;
        while (reply == null) {
            try {
                reply = client.call(ECHO, new byte[] {3}, LIMIT_MS);
            } catch (final RpcException e) {
                assertTrue(GONE.contains(e.status()), e.getMessage());
            }
        }
        assertArrayEquals(new byte[] {3}, reply);
    }

    /** A client that connects to a port nobody listens at may by chance be given that port itself, for a moment. */
    private RpcServer restarted(final int port) throws IOException {
        for (int attempt = 0; attempt < 500; attempt++) {
            try {
                return RpcServer.start(RpcServerConfig.loopback(port), handler);
            } catch (final IOException e) {
                LockSupport.parkNanos(10_000_000);
            }
        }
        return RpcServer.start(RpcServerConfig.loopback(port), handler);
    }

    @Test
    void shouldFailCallsUnderWayWhenTheConnectionEnds() throws IOException {
        start(RpcServerConfig.loopback(0).withLimits(10, 4096, 5000, 0));
        final CompletableFuture<RpcException> underWay = Threads.start(() ->
            assertThrows(RpcException.class, () -> client.call(NEVER, new byte[0], LIMIT_MS)));
        while (held.isEmpty()) {
            Thread.onSpinWait();
        }

        server.close();

        assertEquals(RpcStatus.DISCONNECTED, underWay.join().status());
    }

    @Test
    void shouldFailWithinItsTimeWhenNobodyListens() throws IOException {
        start();
        server.close();
        client = new RpcClient(config().withTimes(1000, 60_000, 60_000));

        final RpcException first = failure(ECHO, new byte[0]);
        final RpcException second = assertThrows(RpcException.class, () -> client.call(ECHO, new byte[0], 1));

        assertEquals(RpcStatus.UNREACHABLE, first.status());
        assertFalse(first.status().isUncertain(), "nothing was sent");
        assertTrue(first.getMessage().contains("127.0.0.1:" + server.address().getPort()), first.getMessage());
        assertEquals(RpcStatus.UNREACHABLE, second.status());
    }

    @Test
    void shouldRefuseARequestOrReplyThatIsTooLarge() throws IOException {
        start(RpcServerConfig.loopback(0).withLimits(10, 4096, 5000, 1000));

        final RpcException e = failure(ECHO, new byte[4097]);
        assertEquals(RpcStatus.TOO_LARGE, e.status());
        assertTrue(e.getMessage().contains("4097") && e.getMessage().contains("4096"), e.getMessage());
        assertEquals(4096, client.call(ECHO, new byte[4096], LIMIT_MS).length);
    }

    @Test
    void shouldTellTheHandlerWhenAClientHasLeft() throws IOException {
        start();
        client.call(ECHO, new byte[0], LIMIT_MS);

        client.close();
        while (gone.get() == 0) {
            Thread.onSpinWait();
        }

        assertEquals(0, server.connections());
        assertThrows(RpcException.class, () -> client.call(ECHO, new byte[0], LIMIT_MS));
    }

    @Test
    void shouldAnswerACallOnceWhateverTheHandlerDoes() throws IOException {
        server = RpcServer.start(RpcServerConfig.loopback(0), call -> {
            call.reply(new byte[] {1});
            call.fail(new IllegalStateException("too late"));
            call.reply(new byte[] {2});
            throw new IllegalStateException("much too late");
        });
        client = new RpcClient(config());
        for (int i = 0; i < 100; i++) {
            assertArrayEquals(new byte[] {1}, client.call(1, new byte[0], LIMIT_MS));
        }
    }

    /** A handler that gives an answer which is none has not answered. */
    @Test
    void shouldFailACallWhoseAnswerCannotBeGiven() throws IOException {
        server = RpcServer.start(RpcServerConfig.loopback(0), call -> call.reply((byte[]) null));
        client = new RpcClient(config());

        assertEquals(RpcStatus.INTERNAL, failure(1, new byte[0]).status());

        server.calls().close();
        assertTrue(server.calls().awaitEmpty(0), "a call is waited for that nobody answers any more");
    }

    /** For want of memory, say. */
    @Test
    void shouldEndAConnectionWhoseAnswerCannotBeKept() throws IOException {
        start();
        try (Socket socket = new Socket()) {
            final ServerConnection broken = new ServerConnection(server, socket, 1);
            assertTrue(server.calls().tryEnter());

            assertThrows(RuntimeException.class,
                () -> broken.answer(RpcFrame.REPLY, 0, 1, new byte[0], 0, true), "it has no output yet");

            assertTrue(socket.isClosed());
        }
        server.calls().close();
        assertTrue(server.calls().awaitEmpty(0));
    }

    @Test
    void shouldWaitForCallsUnderWayWhenClosed() throws Exception {
        start();
        final CompletableFuture<byte[]> call = Threads.start(() -> client.call(NEVER, new byte[] {4}, LIMIT_MS));
        while (held.isEmpty()) {
            Thread.onSpinWait();
        }
        final CountDownLatch closed = new CountDownLatch(1);
        final Thread closer = Thread.ofPlatform().start(() -> {
            server.close();
            closed.countDown();
        });
        assertTrue(Threads.awaitWaiting(closer));

        held.poll().reply(new byte[] {4});

        closed.await();
        assertArrayEquals(new byte[] {4}, call.join(), "an answer that was given is written before the end");
    }
}
